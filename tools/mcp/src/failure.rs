//! Why a message to an address got no answer, in words, and whether it may have been carried out all the same.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "only failures of HTTP are told; all others pass through"
)]

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use thiserror::Error;

/// Why a message got no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum HttpFailure {
    /// It was not carried out.
    #[error("{0}")]
    Refused(String),
    /// It was not carried out, since the server does not know messages of this form.
    #[error("{0}")]
    Strange(String),
    /// Whether it was carried out is not known.
    #[error("{0}")]
    Unknown(String),
}

impl HttpFailure {
    /// Returns why a connection was not made, if HTTP was the reason.
    pub(crate) fn of_start(error: &ClientInitializeError) -> Option<Self> {
        match error {
            ClientInitializeError::TransportError { error, .. } => Self::of(error),
            _ => None,
        }
    }

    /// Returns why a call failed, if HTTP was the reason.
    pub(crate) fn of_call(error: &ServiceError) -> Option<Self> {
        match error {
            ServiceError::TransportSend(error) => Self::of(error),
            _ => None,
        }
    }

    fn of(error: &DynamicTransportError) -> Option<Self> {
        match error.error.downcast_ref::<StreamableHttpError<Self>>()? {
            StreamableHttpError::Client(failure) => Some(failure.clone()),
            StreamableHttpError::SessionExpired
            | StreamableHttpError::ReinitializationFailed(_) => {
                Some(Self::Refused("it ended the session and opens no new one".to_owned()))
            }
            _ => None,
        }
    }
}
