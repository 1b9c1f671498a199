//! The server through its port: what it accepts, who gets access, what it keeps.

mod access;
mod crash;
mod durability;
mod faults;
mod full_disk;
mod hostile;
mod http;
mod pages;
mod places;
mod replies;
mod retention;
mod stream;
mod tables;
