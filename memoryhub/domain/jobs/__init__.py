"""Slow and periodic work: the queue, and the results that pages fetch later."""

from memoryhub.domain.jobs.queue import (
    MAX_TRIES,
    Progress,
    background_thread,
    background_threads,
    bound_schedules,
    claim,
    enqueue,
    enqueue_all,
    enqueue_as_change,
    extend_leases,
    get,
    job,
    kinds,
    latest,
    outgoing_kinds,
    periodic,
    plan_periodic,
    postpone,
    release_lost,
    retry,
    retry_delay,
    run,
)
from memoryhub.domain.jobs.results import find_result, keep_result, newest_result, result_lifetimes
from memoryhub.domain.jobs.sign_ins import forget_sign_ins
