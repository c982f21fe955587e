"""What routes of pipelines may ask for, and what pipelines may tell a server.

``async def show(app: App) -> ...`` in a route that is named by ``Pipeline(routes=...)`` gets the running ``Headrace``.
``Reading`` is what the function named by ``Pipeline(metrics=...)`` returns a list of.
"""

from headrace._web.given import App, LastEventId
from headrace._web.metrics import Reading

__all__ = ["App", "LastEventId", "Reading"]
