pub mod events;
pub mod explain;
pub mod jump;
pub mod open;
pub mod rename;
pub mod status;
pub mod top;
