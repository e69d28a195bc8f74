#include "engine/recording/recorded_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/recording/numbers.hpp"
#include "engine/recording/seen_cells.hpp"
#include "engine/recording/stage_axes.hpp"
#include "engine/tensor/error.hpp"

namespace attn::recording {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::size_t kMostMatrices = 512;  ///< in one group
constexpr std::int64_t kMostColumns = 1 << 15, kMostHeads = 1 << 12;

/// A stage's name without what tells it from others with its role, and which of them it is. A name that is none of ours is that of a map,
/// if it has a map's axes.
std::optional<StageId> role_of(const RecordedAttention& attention, const RecordedStage& stage) {
    const auto is_ours = [](const std::optional<StageId>& id) {
        return id && id->stage != Stage::Other && !letters_of(id->stage).empty() && id->attention == kSelfAttention;
    };
    if (std::optional<StageId> id = stage_from_name(stage.name); is_ours(id)) return id;
    if (!fits(stage.axes, letters_of(Stage::Other)) || stage.axes.back() != 'S') return {};
    StageId other{.stage = Stage::Other, .layer = 0};
    for (const RecordedStage* before = attention.stages.data(); before != &stage; ++before)
        if (!is_ours(stage_from_name(before->name))) ++other.nth;
    return other;
}

/// The group of one attention; nothing if its sizes are not known.
std::optional<AttentionGroup> group_of(const RecordedAttention& attention) {
    AttentionGroup group;
    const auto size = [&](char letter, std::int64_t otherwise) {
        const std::int64_t known = attention.size(letter);
        return known > 0 ? known : otherwise;
    };
    group.sequences = size('B', 1);
    group.heads = size('H', 1);
    group.key_heads = size('G', std::max<std::int64_t>(1, group.heads / std::max<std::int64_t>(1, attention.repeat)));
    group.queries = size('T', 0);
    group.keys = size('S', group.queries);
    group.width = size('D', 1);
    group.value_width = size('E', group.width);
    group.channels = size('C', group.heads * group.value_width);
    group.own_keys = attention.cross || group.keys != group.queries;
    if (group.queries == 0 || group.heads % group.key_heads != 0) return {};
    if (std::max(group.queries, group.keys) > kMostPositions) return {};
    return group;
}

bool are_alike(const AttentionGroup& a, const AttentionGroup& b) {
    const auto sizes = [](const AttentionGroup& group) {
        return std::tuple(group.sequences, group.heads, group.key_heads, group.queries, group.keys, group.width, group.value_width,
                          group.channels, group.own_keys, group.matrices.empty());
    };
    return sizes(a) == sizes(b);
}

/// The group of a tensor that belongs to no attention; nothing if it has no axis, more than five, an empty one or too long a one. `axes`:
/// a letter each, or "" if they are not known.
std::optional<AttentionGroup> group_of_matrix(const std::vector<std::int64_t>& shape, std::string_view axes) {
    const std::size_t rank = shape.size();
    if (rank == 0 || rank > 5 || std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 1; })) return {};
    AttentionGroup group;
    group.queries = rank > 1 ? shape[rank - 2] : 1;
    group.keys = shape[rank - 1];
    const bool has_heads = rank > 3 || (rank == 3 && !axes.starts_with('B'));
    if (has_heads) group.heads = group.key_heads = shape[rank - 3];
    if (rank == 3 && !has_heads) group.sequences = shape[0];
    if (rank > 3) group.sequences = shape[0] * (rank == 5 ? shape[1] : 1);
    group.width = group.value_width = 1;
    group.channels = group.heads;
    group.own_keys = group.keys != group.queries || (!axes.empty() && !axes.ends_with('S'));
    if (std::max(group.queries, group.keys) > kMostColumns || std::max(group.heads, group.sequences) > kMostHeads) return {};
    return group;
}

/// Letters of the axes of everything in a graph, by full names.
std::map<std::string, std::string_view> axes_by_name(const RecordedGraph& graph) {
    std::map<std::string, std::string_view> axes;
    for (const RecordedStage& around : graph.around) axes[around.name] = around.axes;
    for (const RecordedAttention& attention : graph.attentions)
        for (const RecordedStage& stage : attention.stages) axes[full_name(attention, stage)] = stage.axes;
    return axes;
}

/// Whether keys are positions of another text, or of a longer one. Columns of matrices are no positions.
bool has_source(const AttentionGroup& group) { return group.own_keys && group.matrices.empty(); }

StageId with_stack(const AttentionGroup& group, StageId id) {
    if (has_source(group)) {
        id.stack = Stack::Decoder;
        id.attention = kCrossAttention;
    }
    return id;
}

/// How long Axis::N is, which columns of matrices have, and values if their width is not that of queries.
std::int64_t width_of_numbers(const AttentionGroup& group) { return group.matrices.empty() ? group.value_width : group.keys; }

/// The axes of a stage in the plan.
std::vector<Axis> axes_of(const AttentionGroup& group, Stage role) {
    std::vector<Axis> axes;
    for (const char letter : letters_of(role)) {
        if (letter == 'B') axes.push_back(Axis::B);
        if (letter == 'H') axes.push_back(Axis::H);
        if (letter == 'G') axes.push_back(group.key_heads == group.heads ? Axis::H : Axis::G);
        if (letter == 'T') axes.push_back(Axis::T);
        if (letter == 'S') axes.push_back(group.own_keys && !has_source(group) ? Axis::N : Axis::S);
        if (letter == 'D') axes.push_back(Axis::D);
        if (letter == 'E') axes.push_back(group.value_width == group.width ? Axis::D : Axis::N);
        if (letter == 'C') axes.push_back(Axis::C);
    }
    return axes;
}

/// What a stage was, in any layout.
struct Recorded {
    std::vector<float> values;
    std::vector<std::int64_t> shape;
    std::string_view axes;  ///< a letter each
};

/// Numbers in the canonical shape; nothing if they do not fit.
std::optional<Tensor<float>> in_shape(const Recorded& numbers, std::string_view letters, const Shape& shape) {
    const std::optional<CellPlaces> places = CellPlaces::of(numbers.shape, numbers.axes, letters, shape);
    if (!places) return {};
    Tensor<float> out(shape);
    places->for_cells([&](std::size_t cell, std::size_t place) { out.data()[cell] = numbers.values[place]; });
    return out;
}

/// Which cells a mask hid, [B,H,T,S]; `whole_rows`: also of rows of which it leaves nothing.
std::shared_ptr<const Mask> mask_in(const Tensor<float>& masked, bool whole_rows) {
    const Shape& shape = masked.shape();
    const std::int64_t keys = shape[3].size, rows = masked.size() / keys;
    std::vector<std::uint8_t> keep(static_cast<std::size_t>(masked.size()), 1);
    for (std::int64_t row = 0; row < rows; ++row) {
        const float* const numbers = masked.data() + row * keys;
        const auto is_hidden = [](float number) { return static_cast<double>(number) < kHidden; };
        if (!whole_rows && std::all_of(numbers, numbers + keys, is_hidden)) continue;
        for (std::int64_t key = 0; key < keys; ++key)
            if (is_hidden(numbers[key])) keep[static_cast<std::size_t>(row * keys + key)] = 0;
    }
    return std::make_shared<const Mask>(Mask::from_sdpa_bool({shape[0].size, shape[1].size, shape[2].size, keys}, keep,
                                                             {shape[0].size, shape[1].size, shape[2].size, keys}));
}

/// Makes the trace of a group.
class TraceBuilder {
public:
    TraceBuilder(const RecordedGroup& recorded, const std::stop_token& stop) : recorded_(recorded), stop_(stop) {}

    Trace<float> build(double most_mib) {
        const AttentionGroup& group = recorded_.group;
        Trace<float> trace;
        trace.config = config_of(recorded_.recording, group);
        validate(trace.config);
        trace.settings.masks.padding = false;  // what was hidden stands in the numbers
        expect_room(most_mib);
        const RecordedWords words = words_of(recorded_.recording, group);
        trace.tokens = batch_of(words.queries, words.all);
        if (has_source(group)) trace.source_tokens = batch_of(words.keys, words.all);
        std::vector<PlanNode> nodes;
        for (std::size_t layer = 0; layer < group.members.size(); ++layer) add_attention(trace, nodes, layer);
        for (std::size_t layer = 0; layer < group.matrices.size(); ++layer) add_matrix(trace, nodes, layer);
        trace.plan = std::make_shared<const Plan>(std::move(nodes));
        return trace;
    }

private:
    static TokenBatch batch_of(const std::vector<std::vector<std::string>>& rows, const std::vector<std::string>& all) {
        std::map<std::string_view, std::int32_t> ids;
        for (const std::string& word : all) ids.emplace(word, static_cast<std::int32_t>(ids.size()));
        TokenBatch batch;
        for (const std::vector<std::string>& row : rows) {
            batch.length = static_cast<std::int64_t>(row.size());
            batch.lengths.push_back(batch.length);
            for (const std::string& word : row) batch.ids.push_back(ids.at(word));
        }
        return batch;
    }

    Shape shape_of(Stage role) const {
        const AttentionGroup& group = recorded_.group;
        PlanNode node;
        node.id.stage = role;
        node.axes = axes_of(group, role);
        Shape shape;
        for (const Axis axis : node.axes) {
            const std::int64_t size = axis == Axis::B         ? group.sequences
                                      : axis == Axis::T       ? group.queries
                                      : axis == Axis::S       ? group.keys
                                      : axis == Axis::H       ? group.heads
                                      : axis == Axis::G       ? group.key_heads
                                      : axis == Axis::D       ? group.width
                                      : axis == Axis::N       ? width_of_numbers(group)
                                      : role == Stage::Concat ? group.heads * group.width
                                                              : group.channels;
            shape.push_back({axis, size});
        }
        return shape;
    }

    void expect_room(double most_mib) const {
        double numbers = static_cast<double>(recorded_.group.matrices.size()) * static_cast<double>(shape_of(Stage::Other).count());
        for (const std::size_t member : recorded_.group.members)
            for (const RecordedStage& stage : recorded_.graph.attentions[member].stages)
                if (const auto role = role_of(recorded_.graph.attentions[member], stage))
                    numbers += static_cast<double>(shape_of(role->stage).count());
        if (const double mib = 4 * numbers / kMiB; mib > most_mib)
            throw Error(
                fmt::format("this step takes {:.0f} MiB, but the memory budget leaves {:.0f} MiB: record fewer layers or stages, or "
                            "allow more with --memory",
                            std::ceil(mib), std::floor(std::max(most_mib, 0.0))));
    }

    /// As they were recorded, or computed from what was, in double precision.
    std::optional<Recorded> numbers_of(const RecordedAttention& attention, const RecordedStage& stage) const {
        const std::string name = full_name(attention, stage);
        if (const NamedArray* header = recorded_.step.find(name))
            return Recorded{values_as<float>(recorded_.step.read(name), recorded_.step.source()), header->shape, stage.axes};
        const std::optional<Numbers> computed = computed_stage(recorded_.graph, attention, stage, recorded_.step, recorded_.parameter);
        if (!computed) return {};
        return Recorded{{computed->values.begin(), computed->values.end()}, computed->shape, stage.axes};
    }

    void add_attention(Trace<float>& trace, std::vector<PlanNode>& nodes, std::size_t layer) {
        const RecordedAttention& attention = recorded_.graph.attentions[recorded_.group.members[layer]];
        std::map<std::string, StageId, std::less<>> known;
        auto mask = std::make_shared<const Mask>(recorded_.group.queries, recorded_.group.keys);
        for (const RecordedStage& stage : attention.stages) {
            if (stop_.stop_requested()) throw Cancelled();
            const std::optional<StageId> id = place_of(recorded_.group, attention, stage, layer);
            if (!id) continue;
            const std::optional<Recorded> numbers = numbers_of(attention, stage);
            if (!numbers) continue;
            std::optional<Tensor<float>> value = in_shape(*numbers, letters_of(id->stage), shape_of(id->stage));
            if (!value) continue;
            attn::RecordedStage<float> made{*id, std::move(*value)};
            // A softmax gives what is hidden 0; what it makes of a row without any key is shown.
            if (id->stage == Stage::Masked) mask = mask_in(made.value, false);
            if (id->stage == Stage::Masked) made.mask = mask_in(made.value, true);
            else if (is_probability(id->stage) || id->stage == Stage::Dropped) made.mask = mask;
            nodes.push_back(node_of(stage, *id, known, attention, trace, made));
            known.emplace(stage.name, *id);
            trace.stages.push_back(std::move(made));
        }
    }

    /// Nothing is known of it but its numbers.
    void add_matrix(Trace<float>& trace, std::vector<PlanNode>& nodes, std::size_t layer) {
        if (stop_.stop_requested()) throw Cancelled();
        const std::string& name = recorded_.group.matrices[layer];
        PlanNode node;
        node.id = node.dropout_site = place_of_matrix(recorded_.group, layer);
        node.op = Op::Given;
        node.axes = axes_of(recorded_.group, Stage::Other);
        node.origin = code_place_of(name);
        Tensor<float> value(shape_of(Stage::Other));
        const std::vector<float> numbers = values_as<float>(recorded_.step.read(name), recorded_.step.source());
        if (static_cast<std::int64_t>(numbers.size()) != value.size())
            throw FileError(FileFault::Schema, recorded_.step.source(), "", "\"" + escaped(name) + "\" has another size than before");
        std::copy(numbers.begin(), numbers.end(), value.data());
        nodes.push_back(node);
        trace.stages.push_back({node.id, std::move(value)});
    }

    /// What the graph says of a tensor between attentions, if it has one.
    CodePlace code_place_of(const std::string& name) const {
        CodePlace place{escaped(name, 0), "", ""};
        for (const RecordedStage& around : recorded_.graph.around) {
            if (around.name != name || !recorded_.recording.has_graph) continue;
            place.called = escaped(around.called.empty() ? around.op : around.called, 0);
            place.line = escaped(around.line, 0);
        }
        return place;
    }

    PlanNode node_of(const RecordedStage& stage, const StageId& id, const std::map<std::string, StageId, std::less<>>& known,
                     const RecordedAttention& attention, const Trace<float>& trace, const attn::RecordedStage<float>& made) const {
        PlanNode node;
        node.id = node.dropout_site = id;
        node.axes = axes_of(recorded_.group, id.stage);
        node.origin = {"", escaped(stage.called.empty() ? stage.op : stage.called, 0), escaped(stage.line, 0)};
        // attnscope.py has no name for it either.
        const bool nameless = stage.name.starts_with("other") && !stage.called.empty();
        if (id.stage == Stage::Other) node.origin.name = nameless ? node.origin.called : escaped(stage.name, 0);
        for (const std::string& input : stage.inputs)
            if (const auto found = known.find(input); found != known.end()) node.inputs.push_back(found->second);
        node.op = node.inputs.size() == stage.inputs.size() ? operation(stage, node, attention) : Op::Given;
        if (node.op == Op::Scale) node.settings.factor = stage.by;
        if (node.op == Op::Cap) node.settings.cap = stage.by;
        if (node.op == Op::Mask && !only_hides(trace.find(node.inputs.front())->value, made)) node.op = Op::Given;
        // A result that is made of one input of its own shape is drawn beside it, whatever made it.
        if (node.op == Op::Given && (node.inputs.size() != 1 || letters_of(node.inputs[0].stage) != letters_of(id.stage)))
            node.inputs.clear();
        return node;
    }

    /// The operation of ours that a stage's is, if all its inputs are in the trace.
    static Op operation(const RecordedStage& stage, const PlanNode& node, const RecordedAttention& attention) {
        const auto is_made_of = [&](std::string_view a, std::string_view b) {
            if (node.inputs.size() != (b.empty() ? 1U : 2U)) return false;
            return letters_of(node.inputs[0].stage) == a && (b.empty() || letters_of(node.inputs[1].stage) == b);
        };
        const Stage role = node.id.stage;
        const bool is_map = is_attention_map(role);
        if (stage.op == "product" && is_map && is_made_of("BHTD", "BGSD")) return Op::Scores;
        if (stage.op == "product" && role == Stage::Context && is_made_of("BHTS", "BGSE")) return Op::Mix;
        if (stage.op == "scale" && is_map && is_made_of("BHTS", "") && std::isfinite(stage.by) && stage.by != 0) return Op::Scale;
        if (stage.op == "cap" && is_map && is_made_of("BHTS", "") && std::isfinite(stage.by) && stage.by > 0) return Op::Cap;
        if (stage.op == "mask" && is_map && is_made_of("BHTS", "")) return Op::Mask;
        const bool sinks = stage.extra != 0 || attention.has_fact("sink");
        if (stage.op == "softmax" && stage.over == 'S' && is_made_of("BHTS", "") && !sinks) return Op::Softmax;
        const bool in_order = stage.channels == "HD" || stage.channels == "HE" || attention.size('H') == 1;
        if (stage.op == "concat" && role == Stage::Concat && is_made_of("BHTE", "") && in_order) return Op::JoinHeads;
        return Op::Given;
    }

    /// Whether what is not hidden passed unchanged.
    static bool only_hides(const Tensor<float>& before, const attn::RecordedStage<float>& after) {
        const Shape& shape = after.value.shape();
        const std::int64_t keys = shape[3].size, queries = shape[2].size, heads = shape[1].size;
        for (std::int64_t i = 0; i < after.value.size(); ++i) {
            const std::int64_t row = i / keys;
            if (!after.mask->may_attend(row / queries / heads, row / queries % heads, row % queries, i % keys)) continue;
            const float a = before.data()[i], b = after.value.data()[i];
            if (a != b && !(std::isnan(a) && std::isnan(b))) return false;
        }
        return true;
    }

    const RecordedGroup& recorded_;
    const std::stop_token& stop_;
};

}  // namespace

std::vector<AttentionGroup> groups_of(const RecordedGraph& graph) {
    std::vector<AttentionGroup> groups;
    for (std::size_t i = 0; i < graph.attentions.size(); ++i) {
        const RecordedAttention& attention = graph.attentions[i];
        const std::optional<AttentionGroup> own = group_of(attention);
        const auto can_be_drawn = [&](const RecordedStage& stage) { return own && place_of(*own, attention, stage, 0); };
        if (std::none_of(attention.stages.begin(), attention.stages.end(), can_be_drawn)) continue;
        auto found = std::find_if(groups.begin(), groups.end(), [&](const AttentionGroup& group) { return are_alike(group, *own); });
        if (found == groups.end()) found = groups.insert(groups.end(), *own);
        found->members.push_back(i);
    }
    return groups;
}

std::vector<AttentionGroup> groups_of(const RecordedGraph& graph, const RecordedStep& step) {
    std::vector<AttentionGroup> groups = groups_of(graph);
    std::set<std::string> drawn;
    for (const AttentionGroup& group : groups)
        for (std::size_t i = 0; i < group.members.size(); ++i) {
            const RecordedAttention& attention = graph.attentions[group.members[i]];
            for (const RecordedStage& stage : attention.stages)
                if (place_of(group, attention, stage, i)) drawn.insert(full_name(attention, stage));
        }
    const std::map<std::string, std::string_view> axes = axes_by_name(graph);
    for (const NamedArray& tensor : step.tensors()) {
        if (tensor.name.starts_with(kParameters) || drawn.contains(tensor.name)) continue;
        const auto known = axes.find(tensor.name);
        std::optional<AttentionGroup> own = group_of_matrix(tensor.shape, known == axes.end() ? "" : known->second);
        if (!own) continue;
        own->matrices = {tensor.name};
        const auto found = std::find_if(groups.begin(), groups.end(), [&](const AttentionGroup& group) {
            return are_alike(group, *own) && group.matrices.size() < kMostMatrices;
        });
        if (found == groups.end()) groups.push_back(std::move(*own));
        else found->matrices.push_back(tensor.name);
    }
    return groups;
}

std::optional<StageId> place_of(const AttentionGroup& group, const RecordedAttention& attention, const RecordedStage& stage,
                                std::size_t layer) {
    std::optional<StageId> id = role_of(attention, stage);
    if (!id || !fits(stage.axes, letters_of(id->stage)) || stage.extra != 0) return {};
    id->layer = static_cast<int>(layer);
    return with_stack(group, *id);
}

StageId place_of_matrix(const AttentionGroup& group, std::size_t i) {
    return with_stack(group, {.stage = Stage::Other, .layer = static_cast<int>(i)});
}

Trace<float> trace_of(const RecordedGroup& recorded, double most_mib, const std::stop_token& stop) {
    return TraceBuilder(recorded, stop).build(most_mib);
}

Config config_of(const Recording& recording, const AttentionGroup& group) {
    Config config;
    config.architecture = has_source(group) ? Architecture::EncoderDecoder : Architecture::Encoder;
    config.vocab_size = static_cast<std::int64_t>(words_of(recording, group).all.size());
    config.context_length = std::max(group.queries, has_source(group) ? group.keys : 1);
    config.d_model = group.channels;
    config.num_heads = group.heads;
    config.num_kv_heads = group.key_heads;
    config.d_head = group.width;
    config.d_embedding = width_of_numbers(group);
    config.num_layers = static_cast<std::int64_t>(group.layers());
    config.d_ff = 1;
    config.output_projection = true;  // or what leaves the attention would have the width of all heads
    config.residual = config.feed_forward = config.final_norm = config.lm_head = config.tied_lm_head = false;
    config.norm = NormPlacement::None;
    config.position = PositionKind::None;
    return config;
}

RecordedWords words_of(const Recording& recording, const AttentionGroup& group) {
    RecordedWords words;
    std::set<std::string> known;
    const auto take = [&](const std::vector<std::vector<std::string>>& rows, std::int64_t length) {
        std::vector<std::vector<std::string>> taken;
        for (std::int64_t b = 0; b < group.sequences; ++b) {
            const std::size_t row = rows.size() == 1 ? 0 : static_cast<std::size_t>(b);
            const bool fit = row < rows.size() && static_cast<std::int64_t>(rows[row].size()) == length;
            std::vector<std::string>& out = taken.emplace_back();
            for (std::int64_t t = 0; t < length; ++t) {
                out.push_back(fit ? rows[row][static_cast<std::size_t>(t)] : std::to_string(t));
                if (known.insert(out.back()).second) words.all.push_back(out.back());
            }
        }
        return taken;
    };
    words.queries = take(recording.tokens, group.queries);
    // Of a text that goes on, the keys are all its tokens; of cross-attention, those of the other text.
    if (has_source(group)) words.keys = take(recording.source_tokens.empty() ? recording.tokens : recording.source_tokens, group.keys);
    return words;
}

}  // namespace attn::recording
