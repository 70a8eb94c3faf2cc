"""The secret of a store, on which the order depends in which rows are encoded for audits.

Rows of all roles are encoded together. Were their order computed from what is published alone, a
method could compute which rows auditors train on, and code them in another way than the others.
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from fairbench.store.database import Store
from fairbench.store.problems import translate_database_errors
from fairbench.store.schema import META

_NAME = "secret"


def secret_of(store: Store) -> str:
    """Return the random text of a store, the same at every call; it is in no export of the store.

    It is made when it is first asked for. A store that can only be read and has none gets another
    at each call.
    """
    made = secrets.token_hex(16)
    query = sa.select(META.c.value).where(META.c.name == _NAME)

    def read(connection: sa.Connection) -> str | None:
        if not store.read_only:
            # Of two processes that ask at once, one finds that of the other.
            insert = store.insert(META).values(name=_NAME, value=made)
            connection.execute(insert.on_conflict_do_nothing())
        kept: str | None = connection.execute(query).scalar()
        return kept

    with translate_database_errors("The store cannot be written"):
        return store.transactions.run(read) or made
