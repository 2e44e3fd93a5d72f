"""The certificate of the webhook: one that the operator makes and tells API servers, or one that others renew."""

import base64
import ssl
import tempfile
import threading
from pathlib import Path
from typing import Protocol

import structlog

from streamapp_systems.certificates import make_certificate, serve_certificate
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, KubernetesError

_CHECK_SECONDS = 60.0
_CERTIFICATE, _KEY = "tls.crt", "tls.key"
_log = structlog.get_logger()


class WebhookCertificate(Protocol):
    """A certificate with the server's side of TLS."""

    context: ssl.SSLContext

    def refresh(self) -> None:
        """Make sure that API servers trust it; may raise a `KubernetesError` or an `OSError`."""
        ...


class OwnCertificate:
    """A certificate of this process, made at its start. API servers trust it by the webhook's configuration.

    The key is in memory only. There is one operator at a time, so none takes the trust away from another.
    """

    def __init__(self, api: KubernetesApi, configuration: str, host: str) -> None:
        """Make it for a host name; `configuration` is the name of the ValidatingWebhookConfiguration.

        Raises:
            CertificateError: it can't be made.
        """
        with tempfile.TemporaryDirectory() as folder:
            certificate = make_certificate(Path(folder), "streamapp-webhook", [host])
        self.context = certificate.context
        self._bundle = base64.b64encode(certificate.text.encode()).decode()
        self._api = api
        self._configuration = configuration

    def refresh(self) -> None:
        """Write the certificate to the webhook's configuration, if it has another."""
        found = self._api.get(Kind.VALIDATING_WEBHOOK, None, self._configuration)
        if found is None:
            _log.warning("there is no configuration of the webhook, so nobody asks it", name=self._configuration)
            return
        webhooks = [
            {**webhook, "clientConfig": {**webhook.get("clientConfig", {}), "caBundle": self._bundle}}
            for webhook in found.get("webhooks", [])
        ]
        if webhooks != found.get("webhooks", []):
            metadata = {"resourceVersion": found["metadata"]["resourceVersion"]}
            body = {"metadata": metadata, "webhooks": webhooks}
            self._api.patch(Kind.VALIDATING_WEBHOOK, None, self._configuration, body)


class MountedCertificate:
    """A certificate in a folder, as a Secret of cert-manager is mounted: read again and again, since it is renewed."""

    def __init__(self, folder: Path) -> None:
        """Read it.

        Raises:
            OSError: it can't be read.
        """
        self._folder = folder
        self.context = serve_certificate(folder / _CERTIFICATE, folder / _KEY)

    def refresh(self) -> None:
        """Use the certificate that is in the folder now, for new connections; both files are read before.

        Raises:
            OSError: they can't be read, or do not belong together; the one in use stays.
        """
        with tempfile.TemporaryDirectory() as copies:
            certificate, key = Path(copies, _CERTIFICATE), Path(copies, _KEY)
            for copy in (certificate, key):
                copy.write_bytes((self._folder / copy.name).read_bytes())
            serve_certificate(certificate, key)
            self.context.load_cert_chain(certificate, key)


def keep_fresh(certificate: WebhookCertificate, stopped: threading.Event) -> None:
    """Refresh a certificate at once and from time to time, until stopped; what fails is tried again."""
    while True:
        try:
            certificate.refresh()
        except (KubernetesError, OSError) as error:
            _log.warning("API servers may not trust the webhook", error=str(error))
        if stopped.wait(_CHECK_SECONDS):
            return
