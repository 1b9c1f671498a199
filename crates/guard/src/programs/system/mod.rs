//! Programs that act on the machine or on other processes: containers, disks, signals, terminals and the desktop.

pub mod containers;
pub mod control;
pub mod disks;
pub mod kill;
