//! What the tests of headspace share.
//!
//! | you need | take |
//! |---|---|
//! | a home directory of its own, commands that see nothing but it | [`Home`] |
//! | a home with a server on a fixed port, to stop and start again | [`Installation`] |
//! | a server process, and requests to it | [`Server`], [`Response`], [`request`], [`event`] |
//! | something that answers in the server's place, or a webhook's | [`listen`] |
//! | a tmux server, a terminal | [`Tmux`], [`on_terminal, on_terminal_of`] |
//! | a PostgreSQL of its own | [`Postgres`] |
//! | a process that stands for a client, or dies with the test | [`Process`] |
//! | a condition that comes true | [`wait_until`], [`wait_for`] |
//! | a table whose failing rows are all listed, by name | [`each_row`] |
//! | to say why a test cannot run here | [`skip`] |
//!
//! Tests run side by side in one process. What they must not take from each other (ports, programs that are being
//! written, terminals that a stranger's child inherits) is taken care of here, so use these and not your own.
#![allow(clippy::unwrap_used)]

#[cfg(unix)]
mod fake_server;
#[cfg(unix)]
mod home;
#[cfg(unix)]
mod http;
#[cfg(unix)]
mod postgres;
#[cfg(unix)]
mod processes;
mod rows;
#[cfg(unix)]
mod server;
mod skip;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod users;
mod wait;

#[cfg(unix)]
pub use fake_server::{Request, Requests, answer, listen, listen_on};
#[cfg(unix)]
pub use home::{Home, Installation, NO_SERVER, binary, free_port, succeeded};
#[cfg(unix)]
pub use http::{Response, event, request};
#[cfg(unix)]
pub use postgres::Postgres;
#[cfg(unix)]
pub use processes::{Process, allow_many_connections, copy_program, run, write_program};
pub use rows::each_row;
#[cfg(unix)]
pub use server::Server;
pub use skip::skip;
#[cfg(unix)]
pub use terminal::{Tmux, on_terminal, on_terminal_of};
#[cfg(unix)]
#[cfg(target_os = "linux")]
pub use users::connection_of_another_user;
pub use users::{NOBODY, as_another_user, is_root, network_address};
pub use wait::{LONG_ENOUGH, wait_for, wait_until};
