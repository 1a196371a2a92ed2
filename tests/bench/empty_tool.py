"""An MCP server of the SDK alone, on stdio, whose only tool does nothing: what a call over MCP costs at the least."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("empty", log_level="WARNING")


@server.tool(structured_output=False)
async def nothing(path: str) -> str:
    """Answers with as much text as a note of the bench has."""
    return path * 25


if __name__ == "__main__":
    server.run("stdio")
