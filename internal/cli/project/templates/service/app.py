"""The application: it runs main.conc with its own tools, and approves their calls."""
import asyncio

from concerto import Concerto

orders = []


async def main():
    async with await Concerto.stdio("--host-tools", "tools.yaml") as concerto:

        # Agents may call this function. The type hints define its schema, and the docstring
        # is its description. It is called only if approve() allows the call.
        @concerto.tool(requires_approval=True)
        async def order(item: str, pieces: int, ctx) -> dict:
            """Order pieces of an item for the customer"""
            await ctx.progress(1, 2, "asking the store")
            orders.append((item, pieces))
            return {"ordered": pieces, "for": ctx.metadata["user"]}

        @concerto.on_await("tool:approval")
        def approve(ask):
            if ask["args"]["pieces"] > 10:
                return {"decision": "deny", "reason": "ten pieces at most"}
            return {"decision": "allow", "args_sha256": ask["args_sha256"]}

        session = await concerto.run("main.conc", inputs={"item": "lamp", "pieces": 2}, metadata={"user": "ada"})
        async for event in session:
            if event.type == "tool" and event.phase == "end":
                print(f"{event.by} called {event.tool}: {event.outcome}")
        print(await session.result())
        print("orders:", orders)


asyncio.run(main())
