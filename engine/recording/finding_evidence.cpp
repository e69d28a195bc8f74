#include "engine/recording/finding_evidence.hpp"

#include <algorithm>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/recording/follower.hpp"

namespace attn::recording {

void Evidence::add(Gravity gravity, std::string bug, const RecordedStage* stage, std::string text) const {
    found.push_back({gravity, std::move(bug), stage == nullptr ? "" : stage->name,
                     stage == nullptr || stage->line.empty() ? attention.source : stage->line, std::move(text)});
}

const RecordedStage* Evidence::with_op(std::string_view op) const {
    for (const RecordedStage& stage : attention.stages)
        if (stage.op == op) return &stage;
    return nullptr;
}

std::string Evidence::mask_axes(const RecordedStage& stage) const {
    for (const RecordedStage& each : graph.around)
        if (!stage.mask.empty() && each.name == stage.mask) return each.axes;
    return "";
}

std::optional<Numbers> Evidence::numbers(const RecordedStage* stage) const {
    const NamedArray* header = stage == nullptr ? nullptr : step.find(full_name(attention, *stage));
    if (header == nullptr && stage != nullptr && stage->have == Have::Follows) return followed(*stage);
    if (header == nullptr || header->shape.size() != stage->axes.size() || count_of(*header) > kMostNumbers) return {};
    if (count_of(*header) == 0) return {};
    return numbers_of(step.read(header->name), stage->axes, step.source());
}

std::optional<Numbers> Evidence::followed(const RecordedStage& stage) const {
    constexpr std::int64_t kMostFollowed = std::int64_t{1} << 20;
    const std::int64_t rows = attention.size('B') * attention.size('H') * attention.size('T');
    if (rows <= 0 || rows > kMostFollowed / std::max<std::int64_t>(1, attention.size('S'))) return {};
    const FindParameter of_this_step = [this](const std::string& name) {
        const std::string full = std::string(kParameters) + name;
        return step.find(full) == nullptr ? std::nullopt : std::optional(step.read(full));
    };
    try {
        return Follower(graph, attention, step, of_this_step).computed(stage);
    } catch (const NotComputed&) {
        return {};
    }
}

}  // namespace attn::recording
