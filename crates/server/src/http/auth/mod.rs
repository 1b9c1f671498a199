//! See the files of this folder.

pub mod credentials;
pub mod login;
pub mod policy;
