"""Which jobs give way to a pending job.

`attempt`: which jobs one action may evict, and whether what a scenario evicts may stand.
`candidates`: the order in which they are evicted. `solver`: evicts one after the other until the
pending job has its places. `reschedule`: places the pending job and its victims again, each time.
"""
