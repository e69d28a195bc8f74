#include "app/session/files/tensor_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "app/session/document/table_text.hpp"
#include "app/session/facets/held_stages.hpp"
#include "engine/io/atomic_file.hpp"
#include "engine/io/npy.hpp"
#include "engine/io/number_text.hpp"
#include "engine/io/while_intact.hpp"
#include "engine/model/recomputation.hpp"
#include "engine/trace/trace_file.hpp"
#include "engine/weights/parameter_part.hpp"

namespace attn::app {
namespace {

/// A complete tensor, without copying it.
struct Whole {
    Shape shape;
    const float* values = nullptr;
    std::shared_ptr<const void> held{};  ///< keeps the values alive
};

const GradientTrace<float>& expect_gradients(const GradientTrace<float>* gradients) {
    if (gradients == nullptr) throw Error("there are no gradients: the model has no output head, or they are still being computed");
    return *gradients;
}

Whole whole_parameter(const Snapshot& snapshot, const TensorChoice& choice, const GradientTrace<float>* gradients) {
    if (!choice.gradients && snapshot.trace->parameters == nullptr) throw Error("a recording has no parameter " + choice.parameter);
    const Parameters<float>& parameters = choice.gradients ? *expect_gradients(gradients).parameters : *snapshot.trace->parameters;
    const ParameterPlace place = parameters.layout().place(choice.parameter);
    if (place.whole == nullptr) throw Error("this model has no parameter " + choice.parameter);
    const auto copied =
        while_intact(FilesBehind{snapshot}, [&] { return std::make_shared<const std::vector<float>>(copy_part(parameters, place)); });
    return {place.shape(), copied->data(), copied};
}

Whole whole_tensor(const Snapshot& snapshot, const TensorChoice& choice, const GradientTrace<float>* gradients,
                   const std::stop_token& stop = {}) {
    if (snapshot.trace == nullptr) throw Error("nothing has been computed yet");
    if (!choice.parameter.empty()) return whole_parameter(snapshot, choice, gradients);
    const std::string name = tensor_name(choice.stage);
    if (snapshot.trace->plan->find(choice.stage) == nullptr) throw Error("this model has no stage " + name);
    const std::shared_ptr<const Trace<float>> held = choice.gradients ? snapshot.trace : trace_with(snapshot, choice.stage, stop);
    const RecordedStage<float>* stage = choice.gradients ? expect_gradients(gradients).find(choice.stage) : held->find(choice.stage);
    if (stage == nullptr) throw Error("there are no gradients of " + name);
    return {stage->value.shape(), stage->value.data(), held};
}

/// The remaining axes, and the indices of the fixed ones. A chosen head is a query head; for shared keys and values it selects the one that
/// this head reads.
struct Part {
    Shape shape;
    std::vector<std::optional<std::int64_t>> fixed;  ///< one entry per axis of the complete tensor
};

Part part_of(const Config& config, const Shape& whole, const TensorChoice& choice) {
    Part part;
    for (const Dim& dim : whole) {
        const bool head = dim.axis == Axis::H || dim.axis == Axis::G;
        std::optional<std::int64_t> index = dim.axis == Axis::B ? choice.batch : head ? choice.head : std::nullopt;
        const std::int64_t shared = dim.axis == Axis::G ? config.group_size() : 1;
        if (index && (*index < 0 || *index >= dim.size * shared))
            throw Error(fmt::format("there is no {} {}: there are {}", head ? "head" : "sequence", *index, dim.size * shared));
        if (index) *index /= shared;
        if (!index) part.shape.push_back(dim);
        part.fixed.push_back(index);
    }
    return part;
}

/// Names the indices of a tensor's axes.
class Labels {
public:
    Labels(const Snapshot& snapshot, const TensorChoice& choice) : snapshot_(snapshot), choice_(choice) {}

    /// The vocabulary's text for an id.
    std::string symbol(std::int64_t id) const {
        return id < static_cast<std::int64_t>(snapshot_.vocabulary.size()) ? snapshot_.vocabulary[static_cast<std::size_t>(id)] : "";
    }
    /// The token at a position of a sequence.
    std::string token(Axis axis, std::int64_t batch, std::int64_t position) const {
        const auto& row = tokens(axis)[static_cast<std::size_t>(batch)];
        return row[static_cast<std::size_t>(position)].text;
    }
    std::string column(Axis axis, std::int64_t i) const {
        std::string name = std::to_string(i);
        if (axis == Axis::V) name += " " + symbol(i);
        const bool one_sequence = choice_.batch || tokens(axis).size() == 1;
        if (is_position(axis) && one_sequence) name += " " + token(axis, choice_.batch.value_or(0), i);
        return name;
    }
    static bool is_position(Axis axis) { return axis == Axis::T || axis == Axis::S; }
    /// Whether the indices of an axis stand for tokens.
    static bool is_named(Axis axis) { return is_position(axis) || axis == Axis::V; }
    static std::string name(Axis axis) {
        switch (axis) {
        case Axis::B:
            return "sequence";
        case Axis::H:
        case Axis::G:
            return "head";
        case Axis::T:
            return "query";
        case Axis::S:
            return "key";
        default:
            return axis_letter(axis);
        }
    }

private:
    const std::vector<std::vector<Token>>& tokens(Axis axis) const {
        const bool source = choice_.stage.stack == Stack::Encoder || (choice_.stage.attention == kCrossAttention && axis == Axis::S);
        return source ? snapshot_.source_tokens : snapshot_.tokens;
    }
    const Snapshot& snapshot_;
    const TensorChoice& choice_;
};

/// Formats the header line and the leading columns of every row.
class CsvLines {
public:
    CsvLines(const Shape& shape, const Labels& labels, const TensorChoice& choice) : shape_(shape), labels_(labels), choice_(choice) {}

    std::string header() const {
        std::string line;
        for (int a = 0; a + 1 < shape_.rank(); ++a) {
            line += Labels::name(shape_[a].axis) + ",";
            if (Labels::is_named(shape_[a].axis)) line += "token,";
        }
        const Dim& last = shape_[shape_.rank() - 1];
        for (std::int64_t i = 0; i < last.size; ++i) line += (i > 0 ? "," : "") + csv_field(labels_.column(last.axis, i));
        return line + "\r\n";
    }
    std::string prefix(std::int64_t row) const {
        std::vector<std::int64_t> index(static_cast<std::size_t>(shape_.rank()) - 1);
        std::int64_t batch = choice_.batch.value_or(0);
        for (std::size_t a = index.size(); a-- > 0;) {
            const Dim& dim = shape_[static_cast<int>(a)];
            index[a] = row % dim.size;
            row /= dim.size;
            if (dim.axis == Axis::B) batch = index[a];
        }
        std::string text;
        for (std::size_t a = 0; a < index.size(); ++a) {
            text += std::to_string(index[a]) + ",";
            const Axis axis = shape_[static_cast<int>(a)].axis;
            if (Labels::is_named(axis))
                text += csv_field(axis == Axis::V ? labels_.symbol(index[a]) : labels_.token(axis, batch, index[a])) + ",";
        }
        return text;
    }

private:
    const Shape& shape_;
    const Labels& labels_;
    const TensorChoice& choice_;
};

std::vector<std::int64_t> sizes_of(const Shape& shape) {
    std::vector<std::int64_t> sizes;
    for (const Dim& dim : shape) sizes.push_back(dim.size);
    return sizes;
}

TokenTexts texts_without_padding(const std::vector<std::vector<Token>>& sequences) {
    TokenTexts texts;
    for (const std::vector<Token>& sequence : sequences) {
        texts.emplace_back();
        for (const Token& token : sequence)
            if (!token.padding) texts.back().push_back(token.text);
    }
    return texts;
}

void write_contents(const std::filesystem::path& path, const Snapshot& snapshot, const GradientTrace<float>* gradients,
                    TraceContents contents, const WriteWatch& watch = {}) {
    contents.gradients = gradients;
    contents.trained_step = snapshot.trained_step;
    const std::shared_ptr<const Trace<float>> trace = contents.stage ? trace_with(snapshot, *contents.stage, watch.stop) : snapshot.trace;
    write_trace(path, *trace, texts_without_padding(snapshot.tokens), texts_without_padding(snapshot.source_tokens), contents, watch);
}

/// Computes the stages of an outline part by part as they are requested, and records the first non-finite number.
class PartByPart {
public:
    PartByPart(const Snapshot& snapshot, std::shared_ptr<const Trace<float>> outline, std::stop_token stop)
        : snapshot_(snapshot), outline_(std::move(outline)), stop_(std::move(stop)), again_(outline_),
          masks_(builder_.build(*outline_->plan, outline_->settings.masks, outline_->tokens,
                                outline_->config.architecture == Architecture::EncoderDecoder ? &outline_->source_tokens : nullptr)) {}

    const Trace<float>& around(const StageId& id) {
        if (part_.find(id) == nullptr) {
            part_ = {};  // before the next one is computed
            part_ = while_intact(FilesBehind{snapshot_}, [&] { return again_.trace_around(id, stop_); });
            if (!not_finite_) not_finite_ = first_not_finite(part_);
        }
        return part_;
    }
    std::shared_ptr<const Mask> mask(const StageId& id) const {
        const Op op = outline_->plan->at(id).op;
        if (!knows_mask(op)) return nullptr;
        return masks_.of(id, outline_->plan->at(id).settings.window);
    }
    const std::optional<NotFiniteCell>& not_finite() const { return not_finite_; }

private:
    const Snapshot& snapshot_;
    std::shared_ptr<const Trace<float>> outline_;
    std::stop_token stop_;
    Recomputation<float> again_;
    MaskBuilder builder_;
    const PassMasks& masks_;
    Trace<float> part_;
    std::optional<NotFiniteCell> not_finite_;
};

}  // namespace

Tensor<float> chosen_tensor(const Snapshot& snapshot, const TensorChoice& choice, const GradientTrace<float>* gradients,
                            const WriteWatch& watch) {
    constexpr std::int64_t kCheckedAfter = 1 << 16;
    const Whole whole = whole_tensor(snapshot, choice, gradients, watch.stop);
    const Part part = part_of(snapshot.trace->config, whole.shape, choice);
    Tensor<float> chosen(part.shape);
    std::vector<std::int64_t> index(part.fixed.size());
    for (std::int64_t i = 0; i < chosen.size(); ++i) {
        if (i % kCheckedAfter == 0) watch.expect_wanted();
        std::int64_t rest = i, at = 0;
        for (std::size_t a = index.size(); a-- > 0;) {
            const std::int64_t size = whole.shape[static_cast<int>(a)].size;
            index[a] = part.fixed[a].value_or(rest % size);
            if (!part.fixed[a]) rest /= size;
        }
        for (std::size_t a = 0; a < index.size(); ++a) at = at * whole.shape[static_cast<int>(a)].size + index[a];
        chosen.data()[i] = whole.values[at];
    }
    return chosen;
}

void write_tensor_csv(const std::filesystem::path& path, const Snapshot& snapshot, const TensorChoice& choice,
                      const GradientTrace<float>* gradients, const WriteWatch& watch) {
    constexpr std::size_t kChunk = 1 << 20;
    const Tensor<float> tensor = chosen_tensor(snapshot, choice, gradients, watch);
    const Shape& shape = tensor.shape();
    const Labels labels(snapshot, choice);
    const CsvLines lines(shape, labels, choice);
    const std::int64_t columns = shape[shape.rank() - 1].size, rows = columns == 0 ? 0 : tensor.size() / columns;
    AtomicFile file(path);
    std::string text = lines.header();
    for (std::int64_t row = 0; row < rows; ++row) {
        watch.at(static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(rows));
        text += lines.prefix(row);
        for (std::int64_t column = 0; column < columns; ++column) {
            if (column > 0) text += ',';
            append_number(text, tensor.data()[row * columns + column]);
        }
        text += "\r\n";
        if (text.size() < kChunk) continue;
        file.write(text);
        text.clear();
    }
    file.write(text);
    file.commit();
}

void write_tensor_npy(const std::filesystem::path& path, const Snapshot& snapshot, const TensorChoice& choice,
                      const GradientTrace<float>* gradients, const WriteWatch& watch) {
    const Tensor<float> tensor = chosen_tensor(snapshot, choice, gradients, watch);
    const std::string name = path.stem().string();
    if (choice.stage.stage != Stage::Tokens || !choice.parameter.empty())
        return write_npy(path, {name, DType::F32, sizes_of(tensor.shape()), std::as_bytes(tensor.values())}, watch);
    std::vector<std::int32_t> ids;
    for (const float id : tensor.values()) ids.push_back(static_cast<std::int32_t>(std::lround(id)));
    write_npy(path, view_of(make_array<std::int32_t>(name, sizes_of(tensor.shape()), ids)), watch);
}

void write_table(const std::filesystem::path& path, const NumberTable& table, const WriteWatch& watch) {
    if (path.extension() == ".npy")
        return write_npy(path, {path.stem().string(), DType::F32, {table.rows, table.columns}, std::as_bytes(std::span(table.numbers))},
                         watch);
    if (path.extension() != ".csv") throw Error("what is shown can be written as .csv or .npy");
    const auto text_at = [](const std::vector<std::string>& texts, std::int64_t i) { return texts[static_cast<std::size_t>(i)]; };
    const bool tokens = !table.row_texts.empty() && !table.rows_by_text;
    std::string text = csv_field(table.row_axis) + (tokens ? ",token" : "");
    for (std::int64_t column = 0; column < table.columns; ++column) {
        const std::string name = std::to_string(column);
        const std::string text_of = table.column_texts.empty() ? "" : text_at(table.column_texts, column);
        text += "," + csv_field(table.columns_by_text ? text_of : text_of.empty() ? name : fmt::format("{} {}", name, text_of));
    }
    text += "\r\n";
    for (std::int64_t row = 0; row < table.rows; ++row) {
        watch.at(static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(table.rows));
        text += table.rows_by_text ? csv_field(text_at(table.row_texts, row)) : std::to_string(row);
        if (tokens) text += "," + csv_field(text_at(table.row_texts, row));
        for (std::int64_t column = 0; column < table.columns; ++column) {
            text += ',';
            if (const float number = table.numbers[static_cast<std::size_t>(row * table.columns + column)]; !std::isnan(number))
                append_number(text, number);
        }
        text += "\r\n";
    }
    write_whole_file(path, text);
}

void write_tensor_safetensors(const std::filesystem::path& path, const Snapshot& snapshot, const TensorChoice& choice,
                              const GradientTrace<float>* gradients) {
    whole_tensor(snapshot, choice, gradients);  // throws if the numbers do not exist
    TraceContents contents;
    contents.parameter = choice.parameter;
    if (choice.parameter.empty()) contents.stage = choice.stage;
    write_contents(path, snapshot, choice.gradients ? gradients : nullptr, std::move(contents));
}

std::optional<NotFiniteCell> write_snapshot_trace(const std::filesystem::path& path, const Snapshot& snapshot, const WriteWatch& watch) {
    if (snapshot.trace == nullptr) throw Error("nothing has been computed yet");
    if (snapshot.trace->whole()) {
        write_contents(path, snapshot, nullptr, {}, watch);
        return first_not_finite(*snapshot.trace);
    }
    for (const PlanNode& node : snapshot.trace->plan->nodes()) expect_room_for_part(*snapshot.trace, node.id, snapshot.budget_mib);
    PartByPart parts(snapshot, complete_trace(snapshot, watch.stop), watch.stop);
    const StageSource source{[&](const StageId& id) -> const Trace<float>& { return parts.around(id); },
                             [&](const StageId& id) { return parts.mask(id); }};
    write_trace(path, *snapshot.trace, source, texts_without_padding(snapshot.tokens), texts_without_padding(snapshot.source_tokens),
                snapshot.trained_step, watch);
    return parts.not_finite();
}

void write_snapshot_gradients(const std::filesystem::path& path, const Snapshot& snapshot, const GradientTrace<float>& gradients) {
    write_contents(path, snapshot, &gradients, {});
}

}  // namespace attn::app
