//! HTTP: [`accept`] takes connections from the port, [`own_socket`] from the socket; [`auth`] says who may ask; [`routes`]
//! leads to the answers.

pub mod accept;
pub mod answer;
pub mod api;
pub mod auth;
pub mod error_page;
pub mod far_agents;
pub mod guard_says;
pub mod history;
pub mod own_socket;
pub mod routes;
pub mod sse;
pub mod status;
pub mod stream;
pub mod time_updates;

pub use headspace_page::{answer as response, assets};

impl From<crate::ledger::Unavailable> for response::ApiError {
    fn from(error: crate::ledger::Unavailable) -> response::ApiError {
        response::ApiError(hyper::StatusCode::SERVICE_UNAVAILABLE, error.0)
    }
}
