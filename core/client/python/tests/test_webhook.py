import base64
import sys
import time
import unittest
from unittest import mock

from simplevalidations import verify_webhook


class WebhookTest(unittest.TestCase):
    def test_without_cryptography_the_error_names_the_extra(self) -> None:
        headers = {"webhook-id": "1", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1a,AA=="}
        public = "whpk_" + base64.b64encode(bytes(32)).decode()
        with mock.patch.dict(sys.modules, {"cryptography.hazmat.primitives.asymmetric.ed25519": None}):
            with self.assertRaisesRegex(ImportError, r"pip install 'simplevalidations\[ed25519\]'"):
                verify_webhook(headers, b"{}", public)


if __name__ == "__main__":
    unittest.main()
