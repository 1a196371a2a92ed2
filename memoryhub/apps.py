from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.backends.signals import connection_created

from memoryhub.db import hang, statements


class MemoryhubConfig(AppConfig):
    name = "memoryhub"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "memoryhub"

    def ready(self) -> None:
        connection_created.connect(take_vectors, dispatch_uid="memoryhub.take_vectors")
        connection_created.connect(search_on, dispatch_uid="memoryhub.search_on")
        # Inside: they listen to events, and import models, which exist from here on.
        from memoryhub.domain import proposals, working, write_hooks  # noqa: F401


def take_vectors(connection: Any, **kwargs: Any) -> None:
    """Lets a new connection send vectors in binary."""
    connection.connection.adapters.register_dumper(statements.Half, statements.HalfDumper)


def search_on(connection: Any, **kwargs: Any) -> None:
    """Sets how a new connection searches and plans.

    Vector indexes are searched until enough rows of the space are found: by default pgvector gives too few, or none.
    PostgreSQL's price of a random page is that of a disk that turns: with it the newest lines of a large space were looked for
    among those of all spaces, although an index has them.
    Prepared statements keep one plan: planning them anew costs more than running them. Behind PgBouncer a setting would reach
    the connections of others: there `server.migrate.set_role_defaults` sets them for the role.

    Citus chooses a server by the values, so with it PostgreSQL decides about the plans. One connection to each of its servers
    is enough: else a transaction that has read many shards may not change a copied table. Without Citus that name does nothing.
    """
    if settings.PGBOUNCER:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SET hnsw.iterative_scan = 'relaxed_order'; SET hnsw.ef_search = 30; SET random_page_cost = 1.1; "
            "SET citus.multi_shard_modify_mode = 'sequential'; SELECT set_config('plan_cache_mode', "
            "CASE WHEN to_regclass('pg_dist_partition') IS NULL THEN 'force_generic_plan' ELSE 'auto' END, false)"
        )
        if hang.is_watching():  # what a request asked that was ended does not go on
            cursor.execute(f"SET statement_timeout = '{settings.REQUEST_SECONDS}s'")
