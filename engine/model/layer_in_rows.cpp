#include "engine/model/layer_in_rows.hpp"

#include <algorithm>
#include <utility>

#include "engine/tensor/position_rows.hpp"

namespace attn {
namespace {

/// Size of the map of all heads for the rows computed at a time: small enough to stay in the cache from stage to stage.
constexpr std::int64_t kMapBytes = 4 << 20;
/// Fewer rows would cost more time than the memory saved is worth.
constexpr std::int64_t kFewestRows = 16;
/// Stages before and after the maps need little memory per row, but weights are packed again for every group of rows.
constexpr std::int64_t kRowsOfProducts = 1024;

}  // namespace

bool is_attended(const Plan& plan, const StageId& id) {
    return std::any_of(plan.nodes().begin(), plan.nodes().end(),
                       [&](const PlanNode& node) { return (node.op == Op::Scores || node.op == Op::Mix) && node.inputs[1] == id; });
}

RowCounts rows_at_a_time(const Config& config, std::int64_t positions, std::int64_t wanted) {
    if (wanted > 0) return {wanted, wanted};
    const std::int64_t row = std::max<std::int64_t>(1, config.num_heads * positions * std::int64_t{sizeof(float)});
    const std::int64_t maps = std::max(kFewestRows, kMapBytes / row);
    return {maps, std::max(maps, kRowsOfProducts)};
}

template <class Scalar>
LayerInRows<Scalar>::LayerInRows(const Plan& plan, const Weights& weights, const ForwardSettings& settings, const TokenBatch& tokens,
                                 std::stop_token stop, Form form)
    : plan_(plan), settings_(settings), tokens_(tokens), stop_(std::move(stop)), program_(plan, weights, form, Keep::OneLayer) {}

template <class Scalar>
std::size_t LayerInRows<Scalar>::first_map(const PlanPart& part) const {
    std::size_t place = part.first;
    while (place < part.end && plan_.nodes()[place].op != Op::Scores) ++place;
    return place;
}

template <class Scalar>
void LayerInRows<Scalar>::give(const StageId& stream, const Tensor<Scalar>& whole, std::int64_t first, std::int64_t count) {
    Tensor<Scalar>& value = program_.value(program_.place(stream));
    value.resize(with_positions(whole.shape(), count));
    copy_positions(whole, first, value, 0, count);
}

template <class Scalar>
void LayerInRows<Scalar>::forward(std::int64_t first, std::int64_t count, std::size_t begin, std::size_t end,
                                  const RowsObserver<Scalar>& each) {
    const PassMasks masks = masks_of_rows(plan_, settings_.masks, tokens_, first, count, program_.masks_as());
    const TokenBatch some{count, {tokens_.ids.begin() + first, tokens_.ids.begin() + first + count}, {count}};
    Tap<Scalar> tap(false, stop_);
    tap.begin_forward(settings_.edits, first);
    const double work_of_these = static_cast<double>(count) * work(begin, end);
    if (progress_) tap.tell([this, work_of_these](double share) { progress_((work_done_ + share * work_of_these) / work_in_all_); });
    tap.observe([&](const StageId& id, const Tensor<Scalar>& value, const Mask* mask) { each({id, first, value, mask}); });
    PassSetting<Scalar> setting{settings_, masks, tap, &some};
    setting.first_position = first;
    setting.text_length = tokens_.length;
    program_.forward(setting, begin, end);
    done(work_of_these);
}

template <class Scalar>
double LayerInRows<Scalar>::work(std::size_t begin, std::size_t end) const {
    double work = 0;
    for (std::size_t place = begin; place < end; ++place) {
        const Node<Scalar>& node = program_.node(place);
        work += static_cast<double>(node.weight.rows * node.columns);
        if (node.plan->op == Op::Scores || node.plan->op == Op::Mix)
            work += static_cast<double>(program_.config().attention_width() * tokens_.length);
    }
    return work;
}

template <class Scalar>
void LayerInRows<Scalar>::begin_telling(const PlanPart& part) {
    work_done_ = 0;
    work_in_all_ = std::max(static_cast<double>(tokens_.length) * work(part.first, part.end), 1.0);
}

template <class Scalar>
void LayerInRows<Scalar>::done(double work) {
    work_done_ += work;
    if (progress_) progress_(work_done_ / work_in_all_);
}

template <class Scalar>
void LayerInRows<Scalar>::keep_rows(std::vector<Tensor<Scalar>>& kept, std::size_t first_place, const StageRows<Scalar>& shown,
                                    std::int64_t count) const {
    Tensor<Scalar>& whole = kept[program_.place(shown.id) - first_place];
    if (whole.empty()) whole.resize(with_positions(shown.value.shape(), count));
    copy_positions(shown.value, 0, whole, shown.first, PositionRows(shown.value.shape()).positions);
}

template <class Scalar>
std::vector<Tensor<Scalar>> LayerInRows<Scalar>::before_maps(const PlanPart& part, const Tensor<Scalar>& stream, std::int64_t count,
                                                             const RowCounts& rows, const RowsObserver<Scalar>& each) {
    const std::size_t maps = first_map(part);
    const std::int64_t many = maps < part.end ? rows.products : rows.maps;
    std::vector<Tensor<Scalar>> found(maps - part.first);
    for (std::int64_t first = 0; first < count; first += many) {
        const std::int64_t some = std::min(many, count - first);
        give(*part.stream, stream, first, some);
        forward(first, some, part.first, maps, [&](const StageRows<Scalar>& shown) {
            if (each) each(shown);
            if (reads(maps, part.end, program_.place(shown.id))) keep_rows(found, part.first, shown, count);
        });
    }
    return found;
}

template <class Scalar>
bool LayerInRows<Scalar>::reads(std::size_t first, std::size_t end, std::size_t place) const {
    return std::any_of(plan_.nodes().begin() + static_cast<std::ptrdiff_t>(first), plan_.nodes().begin() + static_cast<std::ptrdiff_t>(end),
                       [&](const PlanNode& node) {
                           return std::find(node.inputs.begin(), node.inputs.end(), plan_.nodes()[place].id) != node.inputs.end();
                       });
}

template <class Scalar>
std::size_t LayerInRows<Scalar>::end_of_maps(const PlanPart& part) const {
    std::size_t place = first_map(part);
    while (place < part.end && (is_attention_map(plan_.nodes()[place].id.stage) || plan_.nodes()[place].op == Op::Mix)) ++place;
    return place;
}

/// Without maps this needs no more memory than queries and context.
template <class Scalar>
void LayerInRows<Scalar>::attend_at_once(const PlanPart& part, std::size_t maps, std::size_t behind, std::vector<Tensor<Scalar>>& kept,
                                         const RowsObserver<Scalar>& each) {
    for (std::size_t place = part.first; place < maps; ++place)
        if (Tensor<Scalar>& whole = kept[place - part.first]; !whole.empty() && !reads(behind, part.end, place))
            program_.value(place) = std::move(whole);
    forward(0, tokens_.length, maps, behind, each);
    kept[behind - 1 - part.first] = std::move(program_.value(behind - 1));
}

template <class Scalar>
bool LayerInRows<Scalar>::is_kept(const PlanPart& part, const StageId& id) const {
    const std::size_t place = program_.place(id), maps = first_map(part), behind = end_of_maps(part);
    return (place < maps && reads(maps, part.end, place)) || (place >= maps && place < behind && reads(behind, part.end, place));
}

template <class Scalar>
std::vector<Tensor<Scalar>> LayerInRows<Scalar>::show(const PlanPart& part, const Tensor<Scalar>& stream, const RowCounts& rows,
                                                      const RowsObserver<Scalar>& each) {
    begin_telling(part);
    const std::int64_t positions = tokens_.length;
    const std::size_t maps = first_map(part), behind = end_of_maps(part);
    std::vector<Tensor<Scalar>> kept = before_maps(part, stream, positions, rows, each);
    kept.resize(behind - part.first);
    for (std::size_t place = part.first; place < maps; ++place)
        if (is_attended(plan_, plan_.nodes()[place].id)) program_.value(place) = std::move(kept[place - part.first]);
    const auto give_rows = [&](std::size_t end, std::int64_t first, std::int64_t count) {
        give(*part.stream, stream, first, count);
        for (std::size_t place = part.first; place < end; ++place)
            if (const Tensor<Scalar>& whole = kept[place - part.first]; !whole.empty()) give(plan_.nodes()[place].id, whole, first, count);
    };
    if (program_.leaves_out_maps() && maps < behind) attend_at_once(part, maps, behind, kept, each);
    for (std::int64_t first = 0; first < positions && maps < behind && !program_.leaves_out_maps(); first += rows.maps) {
        const std::int64_t some = std::min(rows.maps, positions - first);
        give_rows(maps, first, some);
        forward(first, some, maps, behind, [&](const StageRows<Scalar>& shown) {
            each(shown);
            if (reads(behind, part.end, program_.place(shown.id))) keep_rows(kept, part.first, shown, positions);
        });
    }
    for (std::size_t place = part.first; place < maps && !program_.leaves_out_maps(); ++place)
        if (is_attended(plan_, plan_.nodes()[place].id)) kept[place - part.first] = std::move(program_.value(place));
    for (std::int64_t first = 0; first < positions && behind < part.end; first += rows.products) {
        const std::int64_t some = std::min(rows.products, positions - first);
        give_rows(behind, first, some);
        forward(first, some, behind, part.end, each);
    }
    return kept;
}

template <class Scalar>
void LayerInRows<Scalar>::show_maps(const PlanPart& part, const Tensor<Scalar>& stream, const Trace<Scalar>* held, std::int64_t first,
                                    std::int64_t count, const RowCounts& rows, const RowsObserver<Scalar>& each) {
    const std::size_t maps = first_map(part);
    std::size_t behind = maps;
    while (behind < part.end && is_attention_map(plan_.nodes()[behind].id.stage)) ++behind;
    std::vector<std::size_t> read;
    for (std::size_t place = part.first; place < maps; ++place)
        if (reads(maps, behind, place)) read.push_back(place);
    const bool all_held = held != nullptr && std::all_of(read.begin(), read.end(),
                                                         [&](std::size_t place) { return held->find(plan_.nodes()[place].id) != nullptr; });
    const std::vector<Tensor<Scalar>> computed = all_held ? std::vector<Tensor<Scalar>>() : before_maps(part, stream, tokens_.length, rows);
    const auto whole = [&](std::size_t place) -> const Tensor<Scalar>& {
        return all_held ? held->find(plan_.nodes()[place].id)->value : computed[place - part.first];
    };
    for (const std::size_t place : read)
        if (is_attended(plan_, plan_.nodes()[place].id)) program_.value(place) = whole(place);
    for (const std::int64_t end = first + count; first < end; first += rows.maps) {
        const std::int64_t some = std::min(rows.maps, end - first);
        for (const std::size_t place : read)
            if (!is_attended(plan_, plan_.nodes()[place].id)) give(plan_.nodes()[place].id, whole(place), first, some);
        forward(first, some, maps, behind, each);
    }
}

template class LayerInRows<float>;
template class LayerInRows<double>;

}  // namespace attn
