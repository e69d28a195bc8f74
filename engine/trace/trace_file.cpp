#include "engine/trace/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/plan/config_json.hpp"
#include "engine/trace/meant.hpp"
#include "engine/trace/settings_json.hpp"
#include "engine/weights/parameter_part.hpp"

namespace attn {
namespace {

std::vector<std::int64_t> sizes_of(const Shape& shape) {
    std::vector<std::int64_t> sizes;
    for (const Dim& dim : shape) sizes.push_back(dim.size);
    return sizes;
}

std::string letters_of(const Shape& shape) {
    std::string letters;
    for (const Dim& dim : shape) letters += axis_letter(dim.axis);
    return letters;
}

Json token_lists(const TokenBatch& batch, const TokenTexts& texts, const char* what) {
    Json lists = Json::list();
    const bool fits = std::equal(batch.lengths.begin(), batch.lengths.end(), texts.begin(), texts.end(),
                                 [](std::int64_t length, const auto& sequence) { return std::cmp_equal(length, sequence.size()); });
    if (!fits) throw ShapeError(fmt::format("there are {} texts for the trace's {} sequences", what, batch.size()));
    for (const auto& sequence : texts) {
        Json list = Json::list();
        for (const std::string& token : sequence) list.push_back(escaped(token, 0));
        lists.push_back(std::move(list));
    }
    return lists;
}

std::vector<std::int64_t> sizes_of(const Mask& mask) { return {mask.batches(), mask.heads(), mask.queries(), mask.keys()}; }

std::vector<std::int32_t> ids_of(const Tensor<float>& tokens) {
    std::vector<std::int32_t> ids;
    ids.reserve(tokens.values().size());
    for (const float id : tokens.values()) ids.push_back(static_cast<std::int32_t>(std::lround(id)));
    return ids;
}

/// The mask's cells, true = may attend.
std::vector<std::uint8_t> cells_of(const Mask& mask) {
    std::vector<std::uint8_t> keep;
    keep.reserve(static_cast<std::size_t>(mask.batches() * mask.heads() * mask.queries() * mask.keys()));
    for (std::int64_t b = 0; b < mask.batches(); ++b)
        for (std::int64_t h = 0; h < mask.heads(); ++h)
            for (std::int64_t t = 0; t < mask.queries(); ++t)
                keep.insert(keep.end(), mask.keep_row(b, h, t), mask.keep_row(b, h, t) + mask.keys());
    return keep;
}

/// Whether heads were split from this stage's projection, which a pass with a mistake also writes.
bool is_split(const StageId& id) { return id.stage == Stage::Q || id.stage == Stage::K || id.stage == Stage::V; }

std::string projection_name(const StageId& id) { return tensor_name(id) + "_proj"; }

/// Weights carry the correct mask of their attention.
bool has_meant_mask(const StageId& id) { return id.stage == Stage::Weights; }

std::string meant_mask_name(const StageId& id) {
    const std::string name = tensor_name(id);
    return name.substr(0, name.rfind('.')) + ".mask";
}

/// Collects the arrays to write, and owns those that the trace does not hold in the file's form.
class Collector {
public:
    void add(const RecordedStage<float>& stage) {
        const std::string name = tensor_name(stage.id);
        if (stage.id.stage == Stage::Tokens) add_ids(name, stage.value);
        else views_.push_back({name, DType::F32, sizes_of(stage.value.shape()), std::as_bytes(stage.value.values())});
        axes_[name] = letters_of(stage.value.shape());
        stages_.push_back(name);
        if (stage.mask != nullptr) add_mask(name + ".keep", *stage.mask);
    }
    void add(const Parameters<float>& parameters, const ParameterInfo& info) {
        axes_[info.name] = letters_of(info.shape);
        if (parameters.borrowed()) return add_owned(make_array<float>(info.name, sizes_of(info.shape), parameters.copy(info)));
        const std::span<const float> values(parameters.data() + info.offset, static_cast<std::size_t>(info.shape.count()));
        views_.push_back({info.name, DType::F32, sizes_of(info.shape), std::as_bytes(values)});
    }
    /// Adds the parameter of that name, which may be some columns of a packed one.
    void add(const Parameters<float>& parameters, const std::string& name) {
        const ParameterPlace place = parameters.layout().place(name);
        if (place.whole == nullptr) throw Error("there is no parameter " + name + " to write");
        axes_[name] = letters_of(place.shape());
        add_owned(make_array<float>(name, sizes_of(place.shape()), copy_part(parameters, place)));
    }
    /// Adds what a pass with a mistake was meant to compute from: the projection before the split, and the correct mask.
    void add_meant(const Trace<float>& trace, const StageId& id) {
        if (is_split(id)) {
            const std::string name = projection_name(id);
            const Tensor<float> value = projection_before_split(trace, id);
            add_owned(make_array<float>(name, sizes_of(value.shape()), value.values()));
            axes_[name] = letters_of(value.shape());
        } else if (has_meant_mask(id)) {
            const std::string name = meant_mask_name(id);
            add_mask_cells(name, meant_mask(trace, id));
            axes_[name] = "BHTS";
        }
    }
    const std::vector<ArrayView>& views() const { return views_; }
    const Json& axes() const { return axes_; }
    const Json& stages() const { return stages_; }

private:
    void add_ids(const std::string& name, const Tensor<float>& value) {
        add_owned(make_array<std::int32_t>(name, sizes_of(value.shape()), ids_of(value)));
    }
    /// Several stages, and layers, share a mask: its cells are collected only once.
    void add_mask(const std::string& name, const Mask& mask) {
        const auto [known, is_new] = masks_.try_emplace(&mask, owned_.size());
        if (is_new) {
            add_mask_cells(name, mask);
        } else {
            ArrayView view = view_of(*owned_[known->second]);
            view.name = name;
            views_.push_back(std::move(view));
        }
        axes_[name] = "BHTS";
    }
    void add_mask_cells(const std::string& name, const Mask& mask) {
        NamedArray array = make_array<std::uint8_t>(name, sizes_of(mask), cells_of(mask));
        array.dtype = DType::Bool;
        add_owned(std::move(array));
    }
    void add_owned(NamedArray array) {
        owned_.push_back(std::make_unique<NamedArray>(std::move(array)));
        views_.push_back(view_of(*owned_.back()));
    }

    std::vector<ArrayView> views_;
    std::vector<std::unique_ptr<NamedArray>> owned_;  ///< by pointer, because views refer to them
    std::map<const Mask*, std::size_t> masks_;        ///< index in owned_
    Json axes_ = Json::object();
    Json stages_ = Json::list();
};

void collect(const Trace<float>& trace, Collector& collector) {
    for (const RecordedStage<float>& stage : trace.stages) {
        collector.add(stage);
        if (trace.settings.mistaken()) collector.add_meant(trace, stage.id);
    }
}

void collect_stage(const Trace<float>& trace, const TraceContents& contents, Collector& collector) {
    const RecordedStage<float>* stage =
        contents.gradients == nullptr ? trace.find(*contents.stage) : contents.gradients->find(*contents.stage);
    if (stage == nullptr) throw Error("there is no " + tensor_name(*contents.stage) + " to write");
    collector.add(*stage);
}

void collect(const Trace<float>& trace, const TraceContents& contents, Collector& collector) {
    const bool gradients = contents.gradients != nullptr;
    if (contents.stage) return collect_stage(trace, contents, collector);
    if (!contents.parameter.empty())
        return collector.add(gradients ? *contents.gradients->parameters : *trace.parameters, contents.parameter);
    if (!gradients) return collect(trace, collector);
    for (const RecordedStage<float>& stage : contents.gradients->stages) collector.add(stage);
    const Parameters<float>& parameters = *contents.gradients->parameters;
    for (const ParameterInfo& info : parameters.layout().entries()) collector.add(parameters, info);
}

std::map<std::string, std::string> metadata_of(const Trace<float>& trace) {
    return {{"format", "attnscope-trace/1"}, {"config", to_json(trace.config).dump()}, {"settings", to_json(trace.settings).dump()}};
}

std::map<std::string, std::string> metadata_of(const Trace<float>& trace, const Json& axes, const Json& stages, const TokenTexts& tokens,
                                               const TokenTexts& source_tokens, std::optional<std::int64_t> trained_step) {
    std::map<std::string, std::string> metadata = metadata_of(trace);
    if (trained_step) metadata["trained_step"] = std::to_string(*trained_step);
    metadata["axes"] = axes.dump();
    metadata["stages"] = stages.dump();
    metadata["tokens"] = token_lists(trace.tokens, tokens, "token").dump();
    metadata["lengths"] = Json(trace.tokens.lengths).dump();
    if (trace.source_tokens.size() > 0 || !source_tokens.empty()) {
        metadata["source_tokens"] = token_lists(trace.source_tokens, source_tokens, "source token").dump();
        metadata["source_lengths"] = Json(trace.source_tokens.lengths).dump();
    }
    return metadata;
}

/// The arrays of a trace written stage by stage, and where each comes from.
class StagePlan {
public:
    StagePlan(const Trace<float>& outline, const StageSource& source) : outline_(outline), source_(source) {
        for (const PlanNode& node : outline.plan->nodes()) {
            add_stage(node.id);
            if (outline.settings.mistaken()) add_meant(node.id);
        }
    }
    const std::vector<PlannedArray>& arrays() const { return arrays_; }
    const Json& axes() const { return axes_; }
    const Json& stages() const { return stages_; }

    std::span<const std::byte> bytes_of(std::size_t i) {
        const From& from = from_[i];
        switch (from.kind) {
        case Kind::Numbers:
            return numbers_of(from.id);
        case Kind::Projection:
            projection_ = projection_before_split(source_.around(from.id), from.id);
            return std::as_bytes(projection_.values());
        case Kind::Keep:
            if (from.mask != kept_of_) cells_ = cells_of(*from.mask);
            kept_of_ = from.mask;
            break;
        case Kind::MeantMask:
            cells_ = cells_of(meant_mask(outline_, from.id));
            kept_of_ = nullptr;
            break;
        }
        return std::as_bytes(std::span<const std::uint8_t>(cells_));
    }

private:
    enum class Kind { Numbers, Projection, Keep, MeantMask };
    struct From {
        Kind kind;
        StageId id;
        std::shared_ptr<const Mask> mask{};  ///< of Kind::Keep
    };

    void add(PlannedArray array, const std::string& axes, From from) {
        axes_[array.name] = axes;
        arrays_.push_back(std::move(array));
        from_.push_back(std::move(from));
    }
    void add_stage(const StageId& id) {
        const std::string name = tensor_name(id);
        const Shape shape = outline_.shape_of(id);
        add({name, id.stage == Stage::Tokens ? DType::I32 : DType::F32, sizes_of(shape)}, letters_of(shape), {Kind::Numbers, id});
        stages_.push_back(name);
        if (const std::shared_ptr<const Mask> mask = source_.mask(id); mask != nullptr)
            add({name + ".keep", DType::Bool, sizes_of(*mask)}, "BHTS", {Kind::Keep, id, mask});
    }
    /// Masks are built again when they are written: those of all layers together may be large.
    void add_meant(const StageId& id) {
        if (is_split(id)) {
            const Shape shape = shape_before_split(outline_, id);
            add({projection_name(id), DType::F32, sizes_of(shape)}, letters_of(shape), {Kind::Projection, id});
        } else if (has_meant_mask(id)) {
            add({meant_mask_name(id), DType::Bool, sizes_of(meant_mask(outline_, id))}, "BHTS", {Kind::MeantMask, id});
        }
    }
    std::span<const std::byte> numbers_of(const StageId& id) {
        const Tensor<float>& value = source_.around(id).find(id)->value;
        if (id.stage != Stage::Tokens) return std::as_bytes(value.values());
        ids_ = ids_of(value);
        return std::as_bytes(std::span<const std::int32_t>(ids_));
    }

    const Trace<float>& outline_;
    const StageSource& source_;
    std::vector<PlannedArray> arrays_;
    std::vector<From> from_;
    Json axes_ = Json::object(), stages_ = Json::list();
    std::vector<std::int32_t> ids_;
    Tensor<float> projection_;
    std::vector<std::uint8_t> cells_;
    std::shared_ptr<const Mask> kept_of_;
};

}  // namespace

void write_trace(const std::filesystem::path& path, const Trace<float>& outline, const StageSource& source, const TokenTexts& tokens,
                 const TokenTexts& source_tokens, std::optional<std::int64_t> trained_step, const WriteWatch& watch) {
    StagePlan plan(outline, source);
    write_safetensors(
        path, metadata_of(outline, plan.axes(), plan.stages(), tokens, source_tokens, trained_step), plan.arrays(),
        [&](std::size_t i) { return plan.bytes_of(i); }, watch);
}

void write_trace(const std::filesystem::path& path, const Trace<float>& trace, const TokenTexts& tokens, const TokenTexts& source_tokens,
                 const TraceContents& contents, const WriteWatch& watch) {
    Collector collector;
    collect(trace, contents, collector);
    std::map<std::string, std::string> metadata =
        metadata_of(trace, collector.axes(), collector.stages(), tokens, source_tokens, contents.trained_step);
    if (contents.gradients != nullptr) {
        metadata["format"] = "attnscope-gradients/1";
        metadata["loss"] = Json(contents.gradients->loss).dump();
        metadata["counted"] = std::to_string(contents.gradients->counted);
        metadata["masked_cells"] = "0";
    }
    write_safetensors(path, metadata, collector.views(), watch);
}

ArrayFile trace_arrays(const Trace<float>& trace) {
    Collector collector;
    collect(trace, collector);
    ArrayFile file;
    file.source = "the trace";
    file.metadata = metadata_of(trace);
    for (const ArrayView& view : collector.views())
        file.arrays.push_back({view.name, view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}});
    return file;
}

}  // namespace attn
