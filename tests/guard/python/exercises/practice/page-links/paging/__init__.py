"""Pages of search results."""

from .links import link_header, window
from .page import Page
from .render import navigation, summary

__all__ = ["Page", "link_header", "navigation", "summary", "window"]
