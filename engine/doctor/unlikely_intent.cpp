#include "engine/doctor/unlikely_intent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/doctor/alibi.hpp"
#include "engine/doctor/keep_patterns.hpp"
#include "engine/doctor/rotation.hpp"

namespace attn::doctor {
namespace {

/// What the file says and the numbers do not contradict, but do not show either.
void warn_of_declarations(Trial& trial) {
    const Intent& intent = trial.sequence.intent;
    const Keep& keep = *trial.found.intended.keep;
    const bool depends_on_query = keep != keep_of_keys(trial.sequence, keys_used(trial.sequence, keep));
    if (intent.causal == false && !intent.given && depends_on_query &&
        is_subset(keep, causal_keep(trial.sequence, trial.sequence.first_query())))
        trial.found.warnings.emplace_back("The weights are causal, although the file says causal = false.");
    if ((trial.sequence.rotary_base || trial.sequence.rotary_width) && !trial.sequence.rotation && !trial.known.other_rotation &&
        trial.sequence.queries > 1 && trial.sequence.has(Part::Q) && trial.sequence.has(Part::K) && !trial.sequence.has(Part::QRotated) &&
        !trial.sequence.has(Part::KRotated))
        trial.found.warnings.push_back(fmt::format("The file gives {}, but q and k are used as they are: they were saved after their "
                                                   "rotation, or it is missing.",
                                                   trial.sequence.rotary_base ? "rope_theta" : "rotary_dim"));
}

bool has_nan(const std::vector<double>& values) {
    return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
}

/// The mask that a program with this mistake was meant to have.
Keep meant_instead(const Trial& trial, Bug bug) {
    const Sequence& sequence = trial.sequence;
    if (bug != Bug::PaddingOnQueries) return causal_keep(sequence, sequence.first_query());
    std::vector<std::uint8_t> rows(static_cast<std::size_t>(sequence.keys), 0);
    for (std::size_t t = 0; t < rows.size() && t < static_cast<std::size_t>(sequence.queries); ++t)
        rows[t] = (*trial.found.intended.keep)[t * static_cast<std::size_t>(sequence.keys)];
    return keep_of_keys(sequence, rows);
}

/// A mask that fits may still be one that nobody would intend.
void suspect_pattern(Trial& trial) {
    const Intent& intent = trial.sequence.intent;
    if (intent.complete || (!intent.given && has_nan(trial.sequence[Part::Weights]))) return;
    std::optional<Bug> bug =
        intent.queries_only ? std::optional(Bug::PaddingOnQueries) : mistaken_pattern(trial.sequence, *trial.found.intended.keep);
    if (intent.queries_only && is_subset(full_keep(trial.sequence), *trial.found.intended.keep)) bug.reset();
    if (!bug || (!intent.given && !trial.found.intended.observed)) return;
    if (bug == Bug::PaddingOnQueries && intent.given && !intent.queries_only) {
        trial.found.warnings.push_back("The file's mask leaves whole queries without a key; a padding mask usually hides keys.");
        return;
    }
    IntendedMask meant;
    meant.keep = std::make_shared<const Keep>(meant_instead(trial, *bug));
    const Outcome outcome = evaluate(trial.sequence, correct_recipe(trial.sequence, meant), trial.rounding, trial.shared);
    if (outcome.first_failure() == kPartCount) return;  // no number tells the two masks apart
    trial.found.right = false;
    trial.found.outcome = outcome;
    trial.found.suspects = {
        {*bug, intent.given ? "The mask in the file itself is like that." : "The file has no mask, but this one can hardly be intended."}};
}

/// Blames the first recorded map if no stage that can be recomputed includes the file's bias.
void blame_first_map(Trial& trial) {
    for (const Part part : {Part::Masked, Part::Weights, Part::Dropped, Part::Context, Part::Concat}) {
        if (!trial.sequence.has(part)) continue;
        Comparison comparison;
        comparison.first = 0;
        comparison.differing = 1;
        comparison.recorded = trial.sequence[part][0];
        comparison.expected = std::nan("");
        trial.found.outcome.at(part) = comparison;
        return;
    }
    trial.found.right = true;
    trial.found.suspects.clear();
    trial.found.warnings.emplace_back("The position bias in the file grows with the distance, where ALiBi's falls.");
}

/// A position bias that fits may still be one that nobody would intend.
void suspect_bias(Trial& trial) {
    if (!grows_with_distance(trial.sequence, trial.sequence.intent.bias, *trial.found.intended.keep, bias_error(trial.sequence))) return;
    Sequence meant = trial.sequence;
    for (double& x : meant.intent.bias) x = -x;
    trial.found.right = false;
    trial.found.outcome = evaluate(meant, correct_recipe(meant, trial.found.intended), trial.rounding, trial.shared);
    trial.found.suspects = {{Bug::AlibiSign, ""}};
    if (trial.first_failure() == kPartCount) blame_first_map(trial);
}

bool is_tiled(const std::vector<double>& rows, std::int64_t heads, std::int64_t stored) {
    const auto size = static_cast<std::ptrdiff_t>(rows.size()) / heads, period = size * stored;
    const bool repeats = std::equal(rows.begin() + period, rows.end(), rows.begin());
    return size > 1 && repeats && !std::equal(rows.begin() + size, rows.begin() + 2 * size, rows.begin());
}

/// If all heads' keys or values are recorded and equal ones are not adjacent, they were tiled.
void suspect_tiled_heads(Trial& trial) {
    for (const Part part : {Part::K, Part::V}) {
        const std::vector<double>& rows = trial.sequence[part];
        const std::int64_t heads = trial.sequence.heads;
        if (rows.empty() || trial.sequence.heads_stored(part) < heads) continue;
        for (std::int64_t stored = 2; stored < heads; ++stored) {
            if (heads % stored != 0 || !is_tiled(rows, heads, stored)) continue;
            const auto different = rows.begin() + static_cast<std::ptrdiff_t>(rows.size()) / heads * stored;
            const Estimate repeated = repeat_heads({{rows.begin(), different}, {}}, stored, heads);
            trial.found.right = false;
            trial.found.outcome.at(part) = compare(rows, repeated);
            trial.found.suspects = {{Bug::GroupedHeadsTiled, fmt::format("Head {} of {} is a copy of head 0.", stored, part_name(part))}};
            return;
        }
    }
}

/// q and k that the file has before and after their rotation, which it describes, but are the same.
void suspect_missing_rotation(Trial& trial) {
    if ((!trial.sequence.rotary_base && !trial.sequence.rotary_width) || trial.sequence.rotation || trial.known.assumed ||
        trial.known.other_rotation)
        return;
    const auto stays = [&](Part before, Part after) {
        return trial.sequence.has(after) && trial.sequence[before] == trial.sequence[after];
    };
    const bool queries = trial.sequence.queries > 1 && stays(Part::Q, Part::QRotated),
               keys = trial.sequence.keys > 1 && stays(Part::K, Part::KRotated);
    if (!queries && !keys) return;
    Sequence meant = trial.sequence;
    meant.rotation = usual_rotations(trial.sequence).front();
    const Outcome outcome = evaluate(meant, correct_recipe(meant, trial.found.intended), trial.rounding, trial.shared);
    if (outcome.first_failure() == kPartCount) return;
    trial.found.right = false;
    trial.found.outcome = outcome;
    trial.found.suspects = {{Bug::Other, "q and k are not rotated at all, although the file describes rotary positions."}};
}

}  // namespace

void doubt_intent(Trial& trial) {
    if (!trial.found.intended.warning.empty()) trial.found.warnings.push_back(trial.found.intended.warning);
    warn_of_declarations(trial);
    suspect_pattern(trial);
    if (trial.found.right && !trial.sequence.intent.bias.empty()) suspect_bias(trial);
    if (trial.found.right) suspect_tiled_heads(trial);
    if (trial.found.right) suspect_missing_rotation(trial);
}

}  // namespace attn::doctor
