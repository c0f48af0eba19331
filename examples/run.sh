#!/bin/sh
# Shows what Fairlead says about the worked examples: is the input sound, which queue is
# entitled to what, which jobs start or wait, and why; then how clusters fare over time. Read the
# YAML files beside this script for the stories behind the numbers.
set -eu
cd "$(dirname "$0")/.."

title() {
    printf '\n\n%s\n%s\n' "$1" "$(printf '%s' "$1" | tr -c '' '=')"
}

show() {
    printf '\n$ fairlead %s\n' "$*"
    fairlead "$@"
}

title "KAI-Scheduler: two departments share 32 GPUs by guarantee, weight and priority"
show validate -f examples/kai/monday
show queues -f examples/kai/monday
show explain research -f examples/kai/monday
show plan -f examples/kai/monday
show explain team-vision/detector -f examples/kai/monday

title "KAI-Scheduler: small worlds, each with its story in its file"
show plan -f examples/kai/gang
show plan -f examples/kai/releasing --cycles 2
show plan -f examples/kai/give-back --cycles 2
show plan -f examples/kai/consolidation
show plan -f examples/kai/min-runtime --now 2026-11-16T08:00:00Z

title "KAI's share simulator: the same division from a body of numbers"
show queues -f examples/share-simulation

title "KAI with history: who used much last week yields"
record=$(mktemp -d)
trap 'rm -rf "$record"' EXIT
export FAIRLEAD_USAGE_STORE="$record/usage.db"
show usage import examples/time-based/last-week.jsonl --now 2026-11-16T08:00:00Z
show usage show --now 2026-11-16T08:05:00Z
show queues -f examples/time-based/monday.yaml -f examples/time-based/settings.yaml \
    --usage-source "$FAIRLEAD_USAGE_STORE" --now 2026-11-16T08:05:00Z

title "Kueue: cohorts lend each other what they do not use"
show validate -f examples/kueue
show queues -f examples/kueue
show explain language -f examples/kueue

title "ElasticQuota: namespaces borrow each other's unused min"
show validate -f examples/elastic-quota
show queues -f examples/elastic-quota
show explain speech -f examples/elastic-quota
show plan -f examples/elastic-quota

title "ElasticQuota: a guarantee that others borrowed on two nodes comes back"
show plan -f examples/elastic-quota-stories/two-nodes
show plan -f examples/elastic-quota-cross-node/gang.yaml

# Results of simulations stay there, to be looked at.
results=build/simulated

simulate() {
    show simulate "examples/scenarios/$1.yaml" --to "$results/$(basename "$1")"
}

title "Simulated: two queues want the whole cluster, and take turns only with past use"
simulate time-based/taking-turns

title "Simulated under Kueue: the three stories of KEP-1714"
for story in pool departments weights; do
    simulate "kueue/$story"
done

title "Simulated under ElasticQuotas: lent, given back, and not given back"
for story in lend-and-return whose-pod nothing-of-its-own two-nodes; do
    simulate "elastic-quota/$story"
done

title "One of them as a page: open it in a browser"
show report "$results/taking-turns"
