#include "engine/doctor/trial.hpp"

#include <algorithm>

#include "engine/tensor/error.hpp"

namespace attn::doctor {
namespace {

bool better(const Outcome& a, const Outcome& b) {
    if (a.first_failure() != b.first_failure()) return a.first_failure() > b.first_failure();
    return a.failures() < b.failures();
}

}  // namespace

Trial::Trial(const Sequence& all, const Known& facts) : sequence(all), known(facts), rounding(rounding_of(all)) {
    rounding.product = std::max(rounding.product, known.short_products);
}

void Trial::expect_to_go_on() const {
    if (known.stop.stop_requested()) throw Cancelled();
}

void find_mask(Trial& trial, const std::vector<IntendedMask>& intended) {
    bool any = false;
    for (const IntendedMask& candidate : intended) {
        trial.expect_to_go_on();
        Outcome outcome = evaluate(trial.sequence, correct_recipe(trial.sequence, candidate), trial.rounding, trial.shared);
        if (any && !better(outcome, trial.found.outcome)) continue;
        any = true;
        trial.found.intended = candidate;
        trial.found.outcome = outcome;
        if (trial.first_failure() == kPartCount) {
            trial.found.right = true;
            return;
        }
    }
}

}  // namespace attn::doctor
