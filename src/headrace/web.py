"""What routes of pipelines may ask for.

``async def show(app: App) -> ...`` in a route that is named by ``Pipeline(routes=...)`` gets the running ``Headrace``.
"""

from headrace._web.given import App, LastEventId

__all__ = ["App", "LastEventId"]
