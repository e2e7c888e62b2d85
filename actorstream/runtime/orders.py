"""The orders, in which the first that a channel concerns decides about it. A new order is a class and a row of this table."""

from __future__ import annotations

from actorstream.runtime.dependency.order import DependencyOrder
from actorstream.runtime.fifo import Fifo
from actorstream.runtime.order import Order
from actorstream.runtime.serial.order import SerialOrder
from actorstream.runtime.timestamp.order import TimestampOrder

ORDERS: list[type[Order]] = [TimestampOrder, SerialOrder, DependencyOrder, Fifo]
