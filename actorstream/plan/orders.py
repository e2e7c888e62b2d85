"""The orders. A new one is a class and a row of this table; `order.order_classes` finds the classes."""

from __future__ import annotations

ORDERS: dict[str, str] = {
    "timestamp": "actorstream.runtime.timestamp.order:TimestampOrder",
    "serial": "actorstream.runtime.serial.order:SerialOrder",
    "dependency": "actorstream.runtime.dependency.order:DependencyOrder",
    "none": "actorstream.runtime.fifo:Fifo",
}
"""What `order` says in a topology -> the class."""
