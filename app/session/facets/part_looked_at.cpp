#include "app/session/values/part_looked_at.hpp"

#include <utility>
#include <vector>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "engine/explain/edit_list.hpp"
#include "engine/model/continued_outline.hpp"
#include "engine/model/looked_at_part.hpp"

namespace attn::app {
namespace {

using KnownParts = std::vector<std::shared_ptr<const Snapshot>>;

/// From this length on, a part takes long enough to report progress.
constexpr std::int64_t kLongPart = 2048;

/// A whole part continues the part of the known text that has the longest common prefix.
WantedOfPart wanted_of(const facet::Inside& inside, const Trace<float>& outline, const KnownParts& known) {
    if (inside.maps_alone) return MapsAlone{stages_of(inside, outline), inside.level};
    std::optional<std::vector<StageId>> stages;
    if (inside.map || inside.half) stages = stages_of(inside, outline);
    if (inside.level) return ReducedPart{*inside.level, std::move(stages)};
    if (stages || inside.head) return NumbersOfPart{std::move(stages), inside.head};
    WholePart whole;
    std::int64_t most = 0;
    for (const auto& part : known) {
        const std::shared_ptr<const Trace<float>>& other = part->trace;
        if (other->parameters != outline.parameters || other->settings != outline.settings) continue;
        if (const std::int64_t kept = positions_kept(*other, outline.tokens); kept > most) whole.before = other, most = kept;
    }
    return whole;
}

}  // namespace

Job<Snapshot> facet::Inside::make(const Inside& wanted, Ask& ask) {
    const auto outline = ask.pass_to(wanted.first);
    if (outline->trace->whole()) return [outline](const Work&) { return Made<Snapshot>(outline); };
    return [wanted, outline, known = ask.known(wanted)](const Work& work) -> Made<Snapshot> {
        const double mib = mib_of(wanted, *outline->trace);
        work.expect_room(mib_to_compute(wanted, *outline->trace));
        PartInRows in_rows;
        if (outline->trace->tokens.length >= kLongPart)
            in_rows.progress = [&](std::int64_t done, std::int64_t all) {
                work.progress(static_cast<std::size_t>(done), static_cast<std::size_t>(all), nullptr);
            };
        Snapshot made = *outline;
        LookedAtPart part = work.engine.inside(outline->trace, wanted.first, wanted_of(wanted, *outline->trace, known), in_rows, work.stop);
        made.trace = std::make_shared<const attn::Trace<float>>(std::move(part.trace));
        made.ranges = std::move(part.ranges);
        made.head_scores = std::move(part.head_scores);
        made.edits_in_vain = edits_in_vain(*made.trace);
        made.serial = next_serial();
        return {std::move(made), mib};
    };
}

}  // namespace attn::app
