#include "app/session/numbers/number_desk.hpp"

#include <algorithm>
#include <utility>

#include "app/session/numbers/number_keys.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/map_tensors.hpp"
#include "engine/explain/edit_list.hpp"
#include "engine/explain/packed_words.hpp"
#include "engine/plan/head_of.hpp"
#include "engine/trace/edit_marks.hpp"
#include "engine/trace/gradient_trace.hpp"

namespace attn::app {
namespace {

/// Lets `data` refer to the view's numbers without copying.
void show_numbers(const MatrixView& view, HeatmapData& data) {
    data.values = view.numbers<float>();
    data.stored = data.values == nullptr ? view.data : nullptr;
    data.first = view.first;
    data.read = data.values == nullptr ? number_reader(view.kind) : nullptr;
    data.row_stride = view.transposed ? 1 : view.stride;
    data.col_stride = view.transposed ? view.stride : 1;
}

void name_mean(Matrix& mean) {
    mean.name += " mean";
    mean.symbol = "mean of the heads";
    mean.origin.reset();
    mean.edited = {};  // edit marks apply to single heads
}

bool allows_everything(const RecordedStage<float>& stage) { return stage.mask == nullptr || stage.mask->allows_everything(); }

/// Puts the rows of a transposed matrix back in the order in which they are stored.
Matrix as_stored(Matrix matrix) {
    if (!matrix.is_transposed) return matrix;
    matrix.is_transposed = false;
    std::swap(matrix.data.rows, matrix.data.cols);
    std::swap(matrix.row_axis, matrix.col_axis);
    std::swap(matrix.row_index, matrix.col_index);
    return matrix;
}

}  // namespace

MapsWanted NumberDesk::form() const {
    const bool every_number = (sight_.gradients && inquiry_.ask(shown_.state, facet::Gradients{})) || sight_.every_number;
    if (every_number) return sight_.all_layers ? MapsWanted::NumbersAlone : MapsWanted::Numbers;
    return sight_.all_layers ? MapsWanted::ReducedAlone : MapsWanted::Reduced;
}

const Snapshot& NumberDesk::held(const Subject& of, const StageId& stage) const {
    return inquiry_.with(of.state, *of.snapshot, stage, of.one_head, form());
}

Reason NumberDesk::missing(const Subject& of, const StageId& stage) const {
    return inquiry_.missing(of.state, *of.snapshot, stage, of.one_head, form());
}

std::optional<facet::Inside> NumberDesk::part_of(const Subject& of, const StageId& stage) const {
    const Trace<float>& trace = *of.snapshot->trace;
    if (trace.whole() || trace.plan->find(stage) == nullptr) return {};
    return inside_with(trace, stage, of.one_head, form());
}

std::optional<facet::Inside> NumberDesk::part_of(const Matrix& matrix) const {
    return matrix.of ? part_of(matrix.of->of, matrix.of->stage) : std::nullopt;
}

Found NumberDesk::numbers(const NumbersOf& wanted) const {
    if (wanted.of.empty()) return {{}, Reason::waiting("That state is being computed.")};
    const Snapshot& from = wanted.if_held ? *wanted.of.snapshot : held(wanted.of, wanted.beside.value_or(wanted.stage));
    Found found = wanted.head == kMeanHead ? mean(from, wanted) : Found{slice(from, wanted)};
    if (!found.map.empty()) return changed(std::move(found.map));
    if (found.missing.empty() && !wanted.beside && !wanted.if_held) found.missing = missing(wanted.of, wanted.stage);
    if (found.missing.empty()) found.missing = {"There are no such numbers here."};
    return found;
}

Matrix NumberDesk::slice(const Snapshot& from, const NumbersOf& wanted) const {
    const Trace<float>& trace = *from.trace;
    const RecordedStage<float>* stage = trace.find(wanted.stage, wanted.head);
    const ReducedMap* map = stage == nullptr ? trace.reduced_map(wanted.stage) : nullptr;
    Matrix out;
    if (map != nullptr) out = reduced(*map, from.serial, wanted.head, trace.config.num_heads);
    else if (stage != nullptr && !stage->value.empty())
        out = slice(*stage, from.serial, wanted.sequence, head_of(trace.config, stage->value.shape(), wanted.head));
    out.of = wanted;
    out.labelled_by = {wanted.of.snapshot, wanted.sequence};
    return out;
}

Matrix NumberDesk::slice(const RecordedStage<float>& stage, std::uint64_t serial, std::int64_t sequence, std::int64_t head) const {
    Matrix matrix;
    const StageId& id = stage.id;
    const Shape& shape = stage.value.shape();
    const bool per_head = shape.rank() == 4;
    const bool vector = shape.rank() == 2;  // tokens [B,T]
    const std::int64_t b = std::min(sequence, shape[0].size - 1);
    const std::int64_t h = !per_head ? 0 : stage.only_head ? *stage.only_head : std::min(head, shape[1].size - 1);
    const Dim rows = vector ? Dim{Axis::N, 1} : shape[shape.rank() - 2];
    const Dim cols = shape[shape.rank() - 1];

    matrix.symbol = stage_symbol(id.stage);
    matrix.name = tensor_name(id);
    matrix.row_axis = rows.axis;
    matrix.col_axis = cols.axis;
    matrix.content = has_probabilities(id.stage) ? Content::Probability : Content::Signed;
    const std::int64_t slice = per_head ? b * shape[1].size + stage.place_of_head(h) : b;
    matrix.data.values = stage.value.data() + slice * rows.size * cols.size;
    matrix.data.rows = rows.size;
    matrix.data.cols = cols.size;
    matrix.data.row_stride = cols.size;
    if (!allows_everything(stage)) matrix.data.keep = stage.mask->keep_row(b, h, 0);
    matrix.data.key = mix_key(mix_key(mix_key(serial, KeyOf::Stage), matrix.name), static_cast<std::uint64_t>(slice));
    if (stage.edited != nullptr && stage.edited->any_in(slice))
        matrix.edited = {stage.edited->by.data() + slice * rows.size * cols.size, cols.size, 1};
    CellRef origin;
    origin.stage = id;
    origin.index[0] = b;
    if (per_head) origin.index[1] = h;
    matrix.origin = origin;
    matrix.row_index = vector ? -1 : shape.rank() - 2;
    matrix.col_index = shape.rank() - 1;
    return matrix;
}

Matrix NumberDesk::reduced(const ReducedMap& map, std::uint64_t serial, std::int64_t head, std::int64_t heads) const {
    Matrix matrix;
    const auto place = map.place_of(head, heads);
    if (!place) return matrix;
    matrix.symbol = stage_symbol(map.id.stage);
    matrix.name = tensor_name(map.id);
    matrix.row_axis = Axis::T;
    matrix.col_axis = Axis::S;
    matrix.content = has_probabilities(map.id.stage) ? Content::Probability : Content::Signed;
    matrix.data.rows = map.region.rows;
    matrix.data.cols = map.region.cols;
    matrix.data.level = map.region.level;
    matrix.data.row_stride = map.region.block_cols();
    matrix.data.values = map.numbers(*place);
    if (!map.keep.empty()) matrix.data.keep = map.keep.data();
    matrix.data.key = mix_key(mix_key(mix_key(serial, KeyOf::Reduced), matrix.name), static_cast<std::uint64_t>(head));
    matrix.blocks = Blocks{.head = head, .non_finite = map.non_finite[static_cast<std::size_t>(*place)]};
    CellRef origin;
    origin.stage = map.id;
    origin.index[1] = head;
    matrix.origin = origin;
    matrix.row_index = 2;
    matrix.col_index = 3;
    return matrix;
}

Found NumberDesk::mean(const Snapshot& from, const NumbersOf& wanted) const {
    const Trace<float>& trace = *from.trace;
    const RecordedStage<float>* stage = trace.find(wanted.stage);
    const ReducedMap* map = stage == nullptr ? trace.reduced_map(wanted.stage) : nullptr;
    Matrix out;
    if (map != nullptr) {
        out = reduced(*map, from.serial, trace.config.num_heads, trace.config.num_heads);
        if (out.empty()) return {};
    } else {
        if (stage == nullptr) return {};
        if (stage->value.empty() || !has_head_mean(wanted.stage.stage)) return {{}, {"A mean of these numbers means nothing."}};
        const auto mean = inquiry_.ask(wanted.of.state, facet::HeadMean{wanted.stage, part_of(wanted.of, wanted.stage)});
        if (!mean) return {{}, reason_of(mean)};
        out = slice(*stage, from.serial, wanted.sequence, 0);
        out.mean_of = stage->id;
        out.data.key = mix_key(out.data.key, KeyOf::HeadMean);
        out.data.values = mean->data() + std::min(wanted.sequence, mean->shape()[0].size - 1) * out.data.rows * out.data.cols;
    }
    name_mean(out);
    out.of = wanted;
    out.labelled_by = {wanted.of.snapshot, wanted.sequence};
    return {std::move(out)};
}

Matrix NumberDesk::parameter(const Subject& of, const ParameterPart& wanted) const {
    Matrix matrix;
    const auto& parameters = of.snapshot->trace->parameters;
    const ParameterPlace part = parameters ? parameters->layout().place(wanted.name) : ParameterPlace{};
    if (part.whole == nullptr) return matrix;
    const bool vector = part.whole->shape.rank() == 1;
    matrix.name = wanted.name;
    matrix.row_axis = wanted.row_axis;
    matrix.col_axis = wanted.col_axis;
    matrix.data.rows = wanted.rows >= 0 ? wanted.rows : part.rows() - wanted.first_row;
    matrix.data.cols = wanted.cols >= 0 ? wanted.cols : part.columns - wanted.first_col;
    const MatrixView all = parameters->view(part);
    if (!all) return matrix;
    show_numbers(all.rows_from(wanted.first_row, matrix.data.rows).columns_from(wanted.first_col, matrix.data.cols), matrix.data);
    const auto place = static_cast<std::uint64_t>(wanted.first_row * part.stride() + wanted.first_col);
    matrix.data.key = mix_key(mix_key(mix_key(of.snapshot->serial, KeyOf::Parameter), wanted.name), place);
    CellRef origin;
    origin.parameter = wanted.name;
    origin.index[0] = vector ? wanted.first_col : wanted.first_row;
    if (!vector) origin.index[1] = wanted.first_col;
    matrix.origin = origin;
    matrix.row_index = vector ? -1 : 0;
    matrix.col_index = vector ? 0 : 1;
    matrix.labelled_by.snapshot = of.snapshot;
    return matrix;
}

const ParameterInfo* NumberDesk::parameter_info(const std::string& name) const {
    const auto& parameters = shown_.snapshot->trace->parameters;
    return parameters == nullptr ? nullptr : parameters->layout().find(name);
}

Matrix NumberDesk::one_hot(const Subject& of, const StageId& tokens, std::int64_t sequence) const {
    const TokenBatch& ids = of.structure().tokens_of(tokens.stack);
    Matrix out;
    if (ids.size() == 0 || ids.length == 0) return out;
    const std::int64_t b = std::min(sequence, ids.size() - 1);
    out.symbol = "one-hot";
    out.name = "one-hot tokens";
    out.row_axis = Axis::T;
    out.col_axis = Axis::V;
    out.content = Content::Probability;
    out.data.rows = ids.length;
    out.data.cols = of.structure().config.vocab_size;
    out.data.row_stride = out.data.cols;
    out.data.key = mix_key(mix_key(mix_key(of.snapshot->serial, KeyOf::OneHot), static_cast<std::uint64_t>(tokens.stack)),
                           static_cast<std::uint64_t>(b));
    store_.statistics.at(out.data.key) = {.max = 1};  // nobody counts them
    OneHotRows& rows = store_.one_hot.at(out.data.key);
    rows = {ids.ids.data() + b * ids.length, out.data.cols};
    out.data.stored = &rows;
    out.data.read = OneHotRows::read;
    out.labelled_by = {of.snapshot, sequence};
    return out;
}

Matrix NumberDesk::gradient(const Matrix& matrix) const {
    const auto gradients = inquiry_.ask(shown_.state, facet::Gradients{});
    if (!gradients || matrix.empty() || !matrix.origin) return {};
    Matrix out;
    if (matrix.origin->parameter.empty()) {
        const auto& index = matrix.origin->index;
        const RecordedStage<float>* stage = gradients->find(matrix.origin->stage);
        if (stage == nullptr || stage->value.empty()) return {};
        out = slice(*stage, mix_key(shown_.snapshot->serial, KeyOf::Gradient), index[0], index[1]);
        // A masked cell's gradient is exactly 0; show it as masked, like its value.
        const StageId& part = matrix.of ? matrix.of->beside.value_or(matrix.of->stage) : matrix.origin->stage;
        const RecordedStage<float>* value = held(shown_, part).trace->find(matrix.origin->stage, index[1]);
        if (out.data.keep == nullptr && value != nullptr && !allows_everything(*value))
            out.data.keep = value->mask->keep_row(index[0], index[1], 0);
    } else {
        const ParameterPlace part = shown_.snapshot->trace->parameters->layout().place(matrix.origin->parameter);
        if (part.whole == nullptr || gradients->parameters == nullptr) return {};
        out = as_stored(matrix);
        const bool vector = part.whole->shape.rank() == 1;
        const std::int64_t row = vector ? 0 : matrix.origin->index[0], col = matrix.origin->index[vector ? 0 : 1];
        show_numbers(gradients->parameters->view(part).rows_from(row, out.data.rows).columns_from(col, out.data.cols), out.data);
        out.data.key = mix_key(matrix.data.key, KeyOf::Gradient);
    }
    if (matrix.is_transposed) out = transposed(out, "");
    out.edited = matrix.edited;
    out.symbol = "∂" + matrix.symbol;
    out.name = matrix.name + " gradient";
    out.row_axis = matrix.row_axis;
    out.content = Content::Signed;
    out.is_gradient = true;
    out.labelled_by = matrix.labelled_by;
    return out;
}

std::optional<LossOfGradients> NumberDesk::loss_of_gradients() const {
    const auto gradients = inquiry_.ask(shown_.state, facet::Gradients{});
    return gradients ? std::optional(LossOfGradients{gradients->loss, gradients->counted}) : std::nullopt;
}

std::optional<float> NumberDesk::gradient(const CellRef& cell) const {
    const auto gradients = inquiry_.ask(shown_.state, facet::Gradients{});
    const RecordedStage<float>* stage = gradients ? gradients->find(cell.stage) : nullptr;
    if (stage == nullptr || stage->value.empty()) return std::nullopt;
    const auto& i = cell.index;
    return stage->value(i[0], i[1], i[2], i[3]);
}

std::optional<CellNumber> NumberDesk::number(const CellRef& cell) const {
    const auto& i = cell.index;
    const Snapshot& from = held(shown_, cell.stage);
    if (const ReducedMap* map = from.trace->reduced_map(cell.stage)) {
        Matrix row = reduced(*map, from.serial, i[1], from.trace->config.num_heads);
        row.of = NumbersOf{.of = shown_, .stage = cell.stage, .head = i[1]};
        row = with_row(std::move(row), i[2]);
        return row.data.knows(i[2], i[3]) ? std::optional(CellNumber{row.at(i[2], i[3]), row.masked(i[2], i[3])}) : std::nullopt;
    }
    const RecordedStage<float>* stage = from.trace->find(cell.stage, i[1]);
    if (stage == nullptr) return std::nullopt;
    const bool masked = stage->mask != nullptr && !stage->mask->may_attend(i[0], i[1], i[2], i[3]);
    return CellNumber{stage->value(i[0], stage->place_of_head(i[1]), i[2], i[3]), masked};
}

bool NumberDesk::is_masked(const CellRef& cell, const StageId& beside) const {
    const auto& i = cell.index;
    const RecordedStage<float>* stage = held(shown_, beside).trace->find(cell.stage, i[1]);
    return stage != nullptr && stage->mask != nullptr && is_attention_map(cell.stage.stage) &&
           !stage->mask->may_attend(i[0], i[1], i[2], i[3]);
}

std::string NumberDesk::packing(const CellRef& cell) const { return packed_words(*shown_.snapshot->trace, cell); }

std::optional<QueryKeyProduct> NumberDesk::query_key(const NumbersOf& scores, std::int64_t query, std::int64_t key) const {
    const Matrix map = with_row(numbers(scores).map, query);
    if (map.empty() || !map.data.knows(query, key)) return std::nullopt;
    const Trace<float>& trace = *held(scores.of, scores.beside.value_or(scores.stage)).trace;
    if (trace.plan->at(scores.stage).op != Op::Scores) return std::nullopt;  // a recording without its queries and keys
    return query_key_product(trace, scores.stage, scores.sequence, scores.head, query, key, map.at(query, key));
}

facet::Explanation NumberDesk::explanation(const CellRef& cell) const { return {cell, shown_.one_head, form() != MapsWanted::Numbers}; }

const StageRange* NumberDesk::range(const Subject& of, const StageId& stage, const StageId& beside) const {
    const std::vector<StageRange>& ranges = held(of, beside).ranges;
    const auto found = std::find_if(ranges.begin(), ranges.end(), [&](const StageRange& range) { return range.id == stage; });
    return found == ranges.end() ? nullptr : &*found;
}

std::span<const HeadScore> NumberDesk::head_scores(const Subject& of, const StageId& weights, const StageId& beside) const {
    return scores_of(held(of, beside).head_scores, weights);
}

std::string NumberDesk::why_in_vain(const Edit& edit, const StageId& beside) const {
    const Snapshot& from = held(shown_, beside);
    const std::vector<Edit>& computed = from.trace->settings.edits;
    const auto it = std::find(computed.begin(), computed.end(), edit);
    return it == computed.end() ? "" : from.edits_in_vain[static_cast<std::size_t>(it - computed.begin())];
}

bool NumberDesk::reaches(const Edit& edit, const CellRef& cell, const StageId& beside) const {
    return attn::reaches(edit, *held(shown_, beside).trace, cell);
}

CellRef NumberDesk::first_cell(const Edit& edit) const { return attn::first_cell(edit, *held(shown_, edit.at).trace); }

}  // namespace attn::app
