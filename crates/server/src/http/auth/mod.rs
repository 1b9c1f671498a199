//! Access: [`policy`] has the rules every request passes, [`credentials`] the token and the browsers that logged in,
//! [`login`] the one-time codes that log a browser in.

pub mod credentials;
pub mod login;
pub mod policy;
