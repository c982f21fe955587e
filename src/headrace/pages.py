"""Pages that a pipeline adds to the dashboard."""

from __future__ import annotations

from headrace._web.pages.contributed import GuestPage, Page, Pages
from headrace._web.pages.uploads import Form, Upload

__all__ = ["Form", "GuestPage", "Page", "Pages", "Upload"]
