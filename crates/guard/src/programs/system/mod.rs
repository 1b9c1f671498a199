//! Programs that act on the machine or on other processes: containers, disks, signals, terminals and the desktop.

pub(super) mod containers;
pub(super) mod control;
pub(super) mod disks;
pub(super) mod kill;
