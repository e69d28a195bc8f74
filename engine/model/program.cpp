#include "engine/model/program.hpp"

#include <algorithm>

#include "engine/attention/scaled_dot_product.hpp"
#include "engine/model/steps/steps.hpp"
#include "engine/ops/elementwise.hpp"
#include "engine/plan/stage_shape.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

/// Whether the fused form cannot compute the node. A norm of whole rows that passes them on is no obstacle.
bool stands_alone(const PlanNode& node) { return is_mistaken(node.op) && (node.op != Op::PassOn || node.has_heads()); }

std::int64_t readers_of(const Plan& plan, const StageId& id) {
    std::int64_t count = 0;
    for (const PlanNode& node : plan.nodes()) count += std::count(node.inputs.begin(), node.inputs.end(), id);
    return count;
}

/// Whether the node's step can write its result over its first input.
bool overwrites_input(const PlanNode& node) {
    return node.op == Op::Activate || (is_attention_map(node.id.stage) && node.op != Op::Scores);
}

}  // namespace

bool can_fuse(const Plan& plan) {
    return std::none_of(plan.nodes().begin(), plan.nodes().end(), [&](const PlanNode& node) {
        // Rotation and norms of heads work in place, so nothing else may read their input.
        const bool alone = node.op == Op::Rotate || (node.op == Op::Norm && node.has_heads());
        const bool shares = alone && (readers_of(plan, node.inputs[0]) > 1 || readers_of(plan, node.id) == 0);
        const bool learns_distances = node.op == Op::Bias && !node.weight.empty();
        return shares || learns_distances || stands_alone(node);
    });
}

bool can_leave_out_maps(const Plan& plan, const ForwardSettings& settings, const std::optional<PlanPart>& part) {
    const auto is_inside = [&](const StageId& id) { return !part || plan.part_around(id).first == part->first; };
    const bool touches_maps = std::any_of(settings.edits.begin(), settings.edits.end(), [&](const Edit& edit) {
        return is_attention_map(edit.at.stage) && plan.find(edit.at) != nullptr && is_inside(edit.at);
    });
    return can_fuse(plan) && settings.dropout.attention == 0 && !touches_maps &&
           std::none_of(plan.nodes().begin(), plan.nodes().end(),
                        [](const PlanNode& node) { return node.op == Op::Bias && !node.weight.empty(); });
}

template <class Scalar>
Program<Scalar>::Program(const Plan& plan, const Weights& weights, Form form, Keep keep)
    : plan_(plan), weights_(weights), form_(form), keep_(keep) {
    find_nodes();
    cut_into_steps();
    share_values(keep);
    share_gradients();
    values_.resize(nodes_.size());
    gradients_.resize(nodes_.size());
    statistics_.resize(nodes_.size());
    zeros_.resize(nodes_.size());
}

template <class Scalar>
void Program<Scalar>::use(const PackedWeights<Scalar>& packed) {
    for (Node<Scalar>& node : nodes_)
        if (node.plan->op == Op::Linear) node.packed = packed.find(node.weight);
}

template <class Scalar>
std::size_t Program<Scalar>::place(const StageId& id) const {
    for (std::size_t i = nodes_.size(); i-- > 0;)
        if (nodes_[i].plan->id == id) return i;
    throw Error("the model has no stage " + tensor_name(id));
}

// --- construction ------------------------------------------------------------------------------------------------------------

template <class Scalar>
void Program<Scalar>::find_nodes() {
    nodes_.reserve(plan_.nodes().size());
    for (const PlanNode& plan : plan_.nodes()) {
        Node<Scalar> node;
        node.plan = &plan;
        for (const StageId& input : plan.inputs) node.inputs.push_back(place(input));
        find_parameters(node);
        nodes_.push_back(std::move(node));
    }
}

template <class Scalar>
void Program<Scalar>::find_parameters(Node<Scalar>& node) {
    const PlanParameter &weight = node.plan->weight, &bias = node.plan->bias;
    if (node.plan->op == Op::Norm) {
        node.gain = find_row(weight);
        node.columns = layout_.place(weight.name).columns;
    } else if (!weight.empty()) {
        const MatrixView matrix = weights_.find(weight.name);
        node.weight = weight.transposed ? matrix.across() : matrix;
        node.columns = node.weight.columns;
    }
    node.bias = find_row(bias);
    if (!weight.empty()) node.dweight = layout_.place(weight.name);
    if (!bias.empty()) node.dbias = layout_.place(bias.name);
}

/// A parameter of one row; a converted copy if it is stored as another type.
template <class Scalar>
const Scalar* Program<Scalar>::find_row(const PlanParameter& parameter) {
    if (parameter.empty()) return nullptr;
    const MatrixView view = weights_.find(parameter.name);
    if (const Scalar* numbers = view.numbers<Scalar>()) return numbers;
    std::vector<Scalar>& row = rows_.emplace_back(static_cast<std::size_t>(view.columns));
    copy_numbers(view, row.data());
    return row.data();
}

template <class Scalar>
void Program<Scalar>::cut_into_steps() {
    for (std::size_t first = 0; first < nodes_.size();) {
        Step<Scalar> step = next_step(*this, first);
        step.first = first;
        if (nodes_[first].plan->op == Op::Linear && step.count > 1 && nodes_[first].plan->has_heads()) merge(first, step.count);
        // A rotated result stays in the columns it came from.
        if (fused() && nodes_[first].plan->op == Op::Rotate) nodes_[first].first_column = nodes_[nodes_[first].inputs[0]].first_column;
        steps_.push_back(step);
        first += step.count;
    }
}

/// Gives the first of several adjacent maps the parameters of all.
template <class Scalar>
void Program<Scalar>::merge(std::size_t first, std::size_t count) {
    Node<Scalar>& all = nodes_[first];
    for (std::size_t i = first + 1; i < first + count; ++i) {
        Node<Scalar>& node = nodes_[i];
        node.first_column = all.weight.columns;
        all.weight.columns += node.columns;
    }
}

/// The node whose memory holds a node's result in fused form: adjacent maps share the first one's, and rotation works in place.
template <class Scalar>
std::size_t Program<Scalar>::home(std::size_t place) const {
    const Node<Scalar>& node = nodes_[place];
    if (node.plan->op == Op::Rotate) return node.inputs[0];
    return node.first_column > 0 ? place - 1 : place;
}

/// Lets layers reuse the previous layer's memory, and the maps of an attention share one tensor, each overwriting its input.
template <class Scalar>
void Program<Scalar>::share_values(Keep keep) {
    value_slots_.resize(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const PlanNode& node = *nodes_[i].plan;
        value_slots_[i] = i;
        if (fused() && home(i) != i) value_slots_[i] = value_slots_[home(i)];
        if (keep != Keep::OneLayer) continue;
        // The current stream is computed from the previous one, so the two alternate.
        StageId first = node.id;
        first.layer = plan_.is_stream(node.id) ? node.id.layer % 2 : 0;
        const PlanNode* earlier = plan_.find(first);
        // Layers may differ: if the first one lacks the stage, it keeps memory of its own.
        if (node.id.layer > first.layer && earlier != nullptr)
            value_slots_[i] = value_slots_[static_cast<std::size_t>(earlier - plan_.nodes().data())];
        else if (!fused() && is_attention_map(node.id.stage) && node.op != Op::Scores) value_slots_[i] = value_slots_[nodes_[i].inputs[0]];
    }
    if (keep == Keep::UntilRead) share_once_read();
}

/// Gives each result the memory of one of the same size that nothing reads any more.
template <class Scalar>
void Program<Scalar>::share_once_read() {
    std::vector<std::int64_t> widths;
    for (const Node<Scalar>& node : nodes_) widths.push_back(stage_shape(config(), *node.plan, {1, 1, 1}).count());
    const std::vector<std::vector<std::size_t>> read_last = nodes_read_last();
    std::vector<std::size_t> spare;  // nodes whose memory is free; that of the last one is the likeliest to be in the cache
    for (std::size_t s = 0; s < steps_.size(); ++s) {
        // Most steps may write a result before they have read all their inputs.
        const bool overwrites = overwrites_input(*nodes_[steps_[s].first].plan);
        if (overwrites) spare.insert(spare.end(), read_last[s].begin(), read_last[s].end());
        for (std::size_t i = steps_[s].first; i <= steps_[s].last(); ++i) {
            const auto found = std::find_if(spare.rbegin(), spare.rend(), [&](std::size_t one) { return widths[one] == widths[i]; });
            if (found == spare.rend()) continue;
            value_slots_[i] = value_slots_[*found];
            spare.erase(std::next(found).base());
        }
        if (!overwrites) spare.insert(spare.end(), read_last[s].begin(), read_last[s].end());
    }
}

/// For each step the nodes that no later step reads.
template <class Scalar>
std::vector<std::vector<std::size_t>> Program<Scalar>::nodes_read_last() const {
    std::vector<std::size_t> last(nodes_.size());
    for (std::size_t s = 0; s < steps_.size(); ++s)
        for (std::size_t i = steps_[s].first; i <= steps_[s].last(); ++i) {
            last[i] = s;
            for (const std::size_t input : nodes_[i].inputs) last[input] = s;
        }
    std::vector<std::vector<std::size_t>> nodes(steps_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes[last[i]].push_back(i);
    return nodes;
}

/// In fused form, where nothing is shown, a layer's gradients are needed only until the layer below is done. All layers therefore use the
/// last one's memory, which stays in the cache.
template <class Scalar>
void Program<Scalar>::share_gradients() {
    gradient_slots_.resize(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) gradient_slots_[i] = i;
    if (!fused()) return;
    std::vector<char> read(nodes_.size());  // by a later node
    for (std::size_t i = nodes_.size(); i-- > 0;) {
        const PlanNode& node = *nodes_[i].plan;
        StageId last = node.id;
        last.layer = static_cast<int>(config().layers_of(node.id.stack)) - 1;
        if (node.id.layer >= 0 && node.id.layer < last.layer && gradient_slots_[i] == i && plan_.find(last) != nullptr)
            gradient_slots_[i] = gradient_slots_[place(last)];
        // The sum's gradient becomes the stream's: after adding to the stream nothing needs the former.
        const bool adds_to_stream = node.op == Op::Add && node.inputs.size() > 1 && node.dropout_site != node.id;
        if (adds_to_stream && read[nodes_[i].inputs[0]] == 0) gradient_slots_[nodes_[i].inputs[0]] = gradient_slots_[i];
        for (const std::size_t input : nodes_[i].inputs) read[input] = 1;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (home(i) != i) gradient_slots_[i] = gradient_slots_[home(i)];
}

// --- passes -----------------------------------------------------------------------------------------------------------------

template <class Scalar>
void Program<Scalar>::forward(const PassSetting<Scalar>& setting, std::size_t first, std::size_t last) {
    setting_ = &setting;
    for (const Step<Scalar>& step : steps_) {
        if (step.first < first || step.first >= last) continue;
        setting.tap.check();
        step.forward(*this, step);
        if (setting.tap.active()) show(step);
    }
}

template <class Scalar>
void Program<Scalar>::backward(const PassSetting<Scalar>& setting, std::size_t first, std::size_t last) {
    setting_ = &setting;
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
        if (step->first < first || step->first >= last) continue;
        setting.tap.check();
        for (std::size_t i = step->last() + 1; i-- > step->first && !fused();) finish_gradient(i);
        if (step->backward != nullptr) step->backward(*this, *step);
    }
}

template <class Scalar>
const std::shared_ptr<const Mask>& Program<Scalar>::shown_mask(std::size_t place) {
    static const std::shared_ptr<const Mask> kNone;
    return knows_mask(nodes_[place].plan->op) ? mask(place) : kNone;
}

/// Maps that are left out cannot be shown.
template <class Scalar>
void Program<Scalar>::show(const Step<Scalar>& step) {
    const bool only_last = leaves_out_maps() && nodes_[step.first].plan->op == Op::Scores;
    for (std::size_t i = only_last ? step.last() : step.first; i <= step.last(); ++i) show(i);
}

template <class Scalar>
void Program<Scalar>::show(std::size_t place) {
    setting_->tap(nodes_[place].plan->id, value(place), shown_mask(place));
}

/// Called before a node's own backward step.
template <class Scalar>
void Program<Scalar>::finish_gradient(std::size_t place) {
    const PlanNode& node = *nodes_[place].plan;
    if (node.op == Op::Tokens) return;
    if (!has_gradient(place)) {  // nothing reads the node
        Tensor<Scalar>& gradient = begin_gradient(place);
        std::fill(gradient.values().begin(), gradient.values().end(), Scalar{0});
    }
    if (setting_->tap.active()) setting_->tap(node.id, gradient(place), shown_mask(place));
}

// --- for the steps -----------------------------------------------------------------------------------------------------------

template <class Scalar>
HeadsView<Scalar> Program<Scalar>::heads_in(Tensor<Scalar>& tensor, std::size_t place) const {
    const Shape& shape = tensor.shape();
    const std::int64_t size = config().head_size();
    if (shape.rank() == 4) return {tensor.data(), shape[1].size * shape[2].size * size, shape[2].size * size, size};
    const std::int64_t positions = shape[1].size, columns = shape[2].size, first = nodes_[place].first_column;
    return {tensor.empty() ? nullptr : tensor.data() + first, positions * columns, size, columns};
}

template <class Scalar>
Tensor<Scalar>& Program<Scalar>::begin_gradient(std::size_t place) {
    has_gradient_[place] = 1;
    gradient(place).resize(value(place).shape());
    return gradient(place);
}

template <class Scalar>
void Program<Scalar>::pass_on(std::size_t from, std::size_t to) {
    if (gradient_slots_[from] == gradient_slots_[to]) {
        has_gradient_[to] = 1;
        return;
    }
    if (has_gradient(to)) return add_to_gradient(to, gradient(from));
    has_gradient_[to] = 1;
    gradient(to) = gradient(from);
}

template <class Scalar>
void Program<Scalar>::add_to_gradient(std::size_t place, const Tensor<Scalar>& part) {
    Tensor<Scalar>& sum = gradient(place);
    add(sum.data(), part.data(), sum.size(), sum.data());
}

template <class Scalar>
Scalar* Program<Scalar>::parameter_gradient(const ParameterPlace& place) {
    return place.whole == nullptr ? nullptr : setting_->gradients->values.data() + place.offset();
}

template <class Scalar>
const TokenBatch& Program<Scalar>::tokens(std::size_t place) const {
    return nodes_[place].plan->id.stack == Stack::Encoder ? *setting_->source : *setting_->tokens;
}

template <class Scalar>
const std::shared_ptr<const Mask>& Program<Scalar>::mask(std::size_t place) const {
    const StageId& id = nodes_[place].plan->id;
    return setting_->masks.of(id, nodes_[place].plan->settings.window);
}

template <class Scalar>
DropoutPattern Program<Scalar>::dropout(double rate, const StageId& site, const Shape& shape) const {
    const std::int64_t per_sequence = shape[0].size == 0 ? 0 : shape.count() / shape[0].size;
    return {rate, settings().dropout.seed, site, setting_->first_sequence * per_sequence};
}

template <class Scalar>
const RotationTable<Scalar>& Program<Scalar>::rotation(std::size_t place, std::int64_t positions) {
    const RotaryRule& rule = nodes_[place].plan->settings.rotary;
    auto found = std::find_if(rotations_.begin(), rotations_.end(), [&](const RuledTable& one) { return one.rule == rule; });
    if (found == rotations_.end()) found = rotations_.insert(found, {rule, {}, {}, {}});
    const std::int64_t tokens = std::max(positions, setting_->text_length);
    if (found->frequencies.empty() || !same_frequencies(rule, found->tokens, tokens)) found->frequencies = rotary_frequencies(rule, tokens);
    found->tokens = tokens;
    found->table.prepare(positions, found->frequencies, rule.stretch.amplitude);
    return found->table;
}

template <class Scalar>
const Scalar* Program<Scalar>::gain(std::size_t place) {
    const Node<Scalar>& node = nodes_[place];
    if (node.plan->settings.norm_kind != NormKind::RmsPlusOne) return node.gain;
    gain_.resize(static_cast<std::size_t>(node.columns));
    std::transform(node.gain, node.gain + node.columns, gain_.begin(), [](Scalar stored) { return 1 + stored; });
    return gain_.data();
}

template class Program<float>;
template class Program<double>;

}  // namespace attn
