//! TLS, by rustls: what a client trusts, and what a hub presents.
//!
//! A certificate is trusted if the system's own store vouches for it, or a file the user names. No roots are built in:
//! a list inside a binary gets old with it.

use anyhow::{Context, Result, bail, ensure};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{CertificateError, ClientConfig, RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where systems keep the certificates they trust, as one file.
const SYSTEM_STORES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/etc/openssl/cert.pem",
];

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// For connections to a server; `roots` replaces the system's store.
pub fn client(roots: Option<&Path>) -> Result<Arc<ClientConfig>> {
    let path = match roots {
        Some(path) => path.to_owned(),
        None => system_store()?,
    };
    let mut store = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(&path)
        .map_err(|error| anyhow::anyhow!("could not read {}: {error}", path.display()))?;
    // Certificates that cannot be read are not trusted; the others are.
    let (added, _) = store.add_parsable_certificates(found.flatten());
    ensure!(added > 0, "could not find a certificate in {}", path.display());
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .context("could not prepare TLS")?
        .with_root_certificates(store)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn system_store() -> Result<PathBuf> {
    if let Some(path) = headspace_platform::config::env_path("SSL_CERT_FILE") {
        return Ok(path);
    }
    let known = SYSTEM_STORES.iter().map(PathBuf::from).find(|path| path.is_file());
    known.context("could not find the system's certificates: name a file with --ca, or set SSL_CERT_FILE")
}

/// Why a handshake failed, and what to do if that is known.
pub fn why(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let said = error.to_string();
    let advice = match inner {
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "nobody who is trusted here signed its certificate: name your own authority with --ca FILE"
        }
        Some(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => "its certificate is for another name",
        Some(rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) => "its certificate has expired",
        // `openssl req -x509` makes such a certificate by default; the library has no name for this error.
        _ if said.contains("CaUsedAsEndEntity") => {
            "its certificate is an authority's and not a server's: make one with basicConstraints=CA:FALSE"
        }
        _ => return said,
    };
    advice.to_owned()
}

/// For a hub that handles TLS itself.
pub fn server(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>> {
    let chain: Vec<CertificateDer> =
        CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect)
            .map_err(|error| anyhow::anyhow!("could not read {}: {error}", certificate.display()))?;
    if chain.is_empty() {
        bail!("could not find a certificate in {}", certificate.display());
    }
    let key = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| anyhow::anyhow!("could not read {}: {error}", key.display()))?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .context("could not prepare TLS")?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("could not use the certificate with its key")?;
    Ok(Arc::new(config))
}
