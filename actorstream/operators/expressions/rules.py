"""Operation of a node -> how it is lowered: the one table of all of them."""

from __future__ import annotations

from actorstream.operators.expressions import rules_logic as logic
from actorstream.operators.expressions import rules_text as text
from actorstream.operators.expressions import rules_values as values
from actorstream.operators.expressions.lowering import Rule

RULES: dict[str, Rule] = {
    "add": values.arithmetic("ADD"),
    "subtract": values.arithmetic("SUBTRACT"),
    "multiply": values.multiply,
    "scale": values.scale,
    "divide": values.arithmetic("DIVIDE"),
    "floor_divide": values.arithmetic("FLOOR_DIVIDE"),
    "remainder": values.arithmetic("REMAINDER"),
    "negate": values.arithmetic("NEGATE"),
    "abs": values.arithmetic("ABS"),
    "min": values.arithmetic("MIN"),
    "max": values.arithmetic("MAX"),
    "round": values.arithmetic("ROUND"),
    "floor": values.arithmetic("FLOOR"),
    "ceil": values.arithmetic("CEIL"),
    "single": values.unary("SINGLE_F"),
    "int_to_float": values.unary("I_TO_F"),
    "bool_to_int": values.unary("M_TO_I"),
    "float_to_int": values.checked("F_TO_I"),
    "fits": values.checked("FITS"),
    "date_part": values.date_part,
    "==": values.compare("EQUAL"),
    "<": values.compare("LESS"),
    "<=": values.compare("LESS_EQUAL"),
    "test": values.test,
    "in": values.in_,
    "same_codes": values.same_codes,
    "same_bools": values.same_bools,
    "and": logic.logic("and"),
    "or": logic.logic("or"),
    "any": logic.logic("any"),
    "not": logic.not_,
    "is_true": logic.is_true,
    "is_null": logic.is_null,
    "if": logic.if_,
    "coalesce": logic.coalesce,
    "contains": text.relation("TEXT_CONTAINS"),
    "starts": text.relation("TEXT_STARTS"),
    "ends": text.relation("TEXT_ENDS"),
    "text_length": text.of_text("TEXT_LENGTH"),
    "bytes_length": text.of_text("BYTES_LENGTH"),
    "text_to_int": text.of_text("TEXT_TO_I"),
    "text_to_float": text.of_text("TEXT_TO_F"),
    "text_to_bool": text.of_text("TEXT_TO_BOOL"),
    "text_in": text.computed_bools,
    "labels": text.labels,
    "lookup": text.lookup,
}
