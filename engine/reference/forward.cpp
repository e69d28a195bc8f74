#include "engine/reference/forward.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <list>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "engine/reference/edits.hpp"
#include "engine/reference/maths.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/position_rows.hpp"
#include "engine/tensor/random.hpp"

namespace attn::reference {
namespace {

using Matrix = Tensor<double>;

void check_batch(const TokenBatch& tokens, std::int64_t vocabulary) {
    const std::int64_t batch = tokens.size();
    if (static_cast<std::int64_t>(tokens.ids.size()) != batch * tokens.length)
        throw ShapeError("a batch of " + std::to_string(batch) + " sequences of " + std::to_string(tokens.length) + " positions holds " +
                         std::to_string(tokens.ids.size()) + " ids");
    for (const std::int32_t id : tokens.ids)
        if (id < 0 || id >= vocabulary)
            throw Error("token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(vocabulary));
}

/// PE(t, 2i) = sin(t / 10000^(2i/C)), PE(t, 2i+1) = cos of the same angle (Vaswani et al., 2017).
double sinusoid(std::int64_t t, std::int64_t c, std::int64_t width) {
    const std::int64_t even = c - c % 2;
    const double angle = static_cast<double>(t) / std::pow(10000.0, static_cast<double>(even) / static_cast<double>(width));
    return c % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

Matrix sum(const Matrix& a, const Matrix& b) {
    Matrix out(a.shape());
    for (std::int64_t i = 0; i < a.size(); ++i) out.data()[i] = a.data()[i] + b.data()[i];
    return out;
}

/// Which random numbers a dropout site uses: one stream per sublayer, by the same convention as engine/ops/dropout.
std::uint64_t dropout_stream(const StageId& site) {
    return (static_cast<std::uint64_t>(site.stack) << 56) ^ (static_cast<std::uint64_t>(site.layer + 1) << 8) ^ stage_key(site);
}

/// Cell i is dropped if number i of the site's stream is below the rate, else divided by 1 - rate.
Matrix dropped_out(const Matrix& x, double rate, std::uint64_t seed, const StageId& site) {
    if (rate == 0) return x;
    const CounterRandom random(seed, dropout_stream(site));
    Matrix out(x.shape());
    for (std::int64_t i = 0; i < x.size(); ++i)
        out.data()[i] = random.uniform(static_cast<std::uint64_t>(i)) < rate ? 0 : x.data()[i] / (1 - rate);
    return out;
}

/// Whether the input is read at all positions: keys of the scores and values of the mix. Other inputs are read at a node's own positions.
bool reads_all(const PlanNode& node, std::size_t which) { return (node.op == Op::Scores || node.op == Op::Mix) && which == 1; }

/// Computes the nodes of a plan one by one.
template <class Scalar>
class Pass {
public:
    Pass(const Parameters<Scalar>& parameters, const TokenBatch& tokens, const TokenBatch& source, const ForwardSettings& settings,
         std::stop_token stop, Rounding rounding)
        : parameters_(parameters), config_(parameters.config()), plan_(config_, settings.mistake), tokens_(tokens), source_(source),
          settings_(settings), stop_(std::move(stop)), rounding_(rounding) {}

    void check() const {
        if (config_.architecture == Architecture::EncoderDecoder) check_batch(source_, config_.vocab_size);
        check_batch(tokens_, config_.vocab_size);
    }
    std::vector<ReferenceStage> run() {
        check();
        for (const PlanNode& node : plan_.nodes()) compute(node, {});
        std::vector<ReferenceStage> stages;
        for (Kept& kept : kept_) stages.push_back(std::move(kept.stage));
        return stages;
    }
    /// Supplies a stage that is computed elsewhere.
    const ReferenceStage& give(ReferenceStage stage, const Rows& rows) { return kept_.emplace_back(Kept{std::move(stage), rows}).stage; }
    /// Computes the rows of a node; its inputs must be there.
    const ReferenceStage& compute(const PlanNode& node, const Rows& rows) {
        if (stop_.stop_requested()) throw Cancelled();
        rows_ = rows;
        const SharedPermissions permissions = permissions_of(node);
        const ReferenceStage& made = record(node, value_of(node, permissions.get()), permissions);
        widened_.clear();
        return made;
    }
    /// Null if the stage has not been computed or was discarded.
    const ReferenceStage* find(const StageId& id, const Rows& rows) const {
        for (const Kept& kept : kept_)
            if (kept.stage.id == id && kept.rows == rows) return &kept.stage;
        return nullptr;
    }
    /// Discards the stages for which is_done(id, rows) is true.
    template <class Done>
    void forget(const Done& is_done) {
        kept_.remove_if([&](const Kept& kept) { return is_done(kept.stage.id, kept.rows); });
    }
    /// Supplies the keys or values of all positions, for computing some rows of queries.
    void give_whole(const StageId& id, const Matrix* value) { whole_[tensor_name(id)] = value; }
    const Plan& plan() const { return plan_; }

private:
    using SharedPermissions = std::shared_ptr<const Permissions>;
    struct Kept {
        ReferenceStage stage;
        Rows rows;
    };
    static SharedPermissions share(Permissions permissions) { return std::make_shared<const Permissions>(std::move(permissions)); }

    Matrix value_of(const PlanNode& node, const Permissions* permissions) const {
        const OpSettings& settings = node.settings;
        switch (node.op) {
        case Op::Tokens:
            return ids(node);
        case Op::Embed:
            return looked_up(node);
        case Op::Positions:
            return positions(node);
        case Op::Add:
            return added(node);
        case Op::Norm:
            return normed(node);
        case Op::Linear:
        case Op::LinearByReshape:
            return mapped(node);
        case Op::Rotate:
            return rotated(input(node), settings.rotary, rows_.first, batch(node).length);
        case Op::Scores:
            return attention_scores(input(node), input(node, 1));
        case Op::Scale:
            return each(input(node), [&](double x) { return x * settings.factor; });
        case Op::Cap:
            return each(input(node), [&](double x) { return capped(x, settings.cap); });
        case Op::Bias:
            if (node.weight.empty()) return lowered_by_distance(input(node), settings.factor, rows_.first);
            return biased_by_range(input(node), parameter(node.weight), settings.buckets, rows_.first);
        case Op::Segments:
            return segments(node);
        case Op::Mask:
            return apply_mask(input(node), *permissions);
        case Op::Softmax:
            return attention_weights(input(node), *permissions, settings_.temperature);
        case Op::Dropout:
            return drop(input(node), node, settings_.dropout.attention);
        case Op::Mix:
            return weighted_values(input(node), input(node, 1), *recorded(node.inputs.at(0)).permissions);
        case Op::JoinHeads:
            return concat_heads(input(node));
        case Op::Activate:
            return each(input(node), [&](double x) { return activate(settings.activation, x); });
        case Op::Multiply:
            return product(input(node), input(node, 1));
        case Op::Probabilities:
            return softmax(input(node));
        case Op::Given:
            break;
        case Op::PassOn:
            return input(node);
        case Op::SoftmaxOverQueries:
            return weights_over_queries(input(node), *permissions, settings_.temperature);
        case Op::SoftmaxThenMask:
            return masked_late(input(node), *permissions);
        case Op::DropoutLeftOn:
            return drop(input(node), node, settings_.dropout.attention == 0 ? kDropoutLeftOn : settings_.dropout.attention);
        case Op::JoinByReshape:
            return concat_in_order(input(node));
        }
        throw Error("there is no operation for " + tensor_name(node.id));
    }

    const ReferenceStage& record(const PlanNode& node, Matrix value, const SharedPermissions& permissions) {
        if (!settings_.edits.empty()) value = edited(settings_.edits, node.id, std::move(value), permissions.get(), rows_.first);
        if (rounding_ == Rounding::EveryStageToFloat)
            for (double& number : value.values()) number = static_cast<double>(static_cast<float>(number));
        return give({node.id, std::move(value), permissions}, rows_);
    }

    const ReferenceStage& recorded(const StageId& id) const {
        const ReferenceStage* stage = find(id, rows_);
        if (stage == nullptr) throw Error(tensor_name(id) + " is read before it is computed");
        return *stage;
    }
    const Matrix& input(const PlanNode& node, std::size_t which = 0) const {
        const StageId& id = node.inputs.at(which);
        if (rows_.all() || !reads_all(node, which)) return recorded(id).value;
        return *whole_.at(tensor_name(id));
    }
    const TokenBatch& batch(const PlanNode& node) const { return node.id.stack == Stack::Encoder ? source_ : tokens_; }

    MatrixView stored(const PlanParameter& used) const {
        const MatrixView view = parameters_.view(used.name);
        if (!view) throw Error("the model has no parameter " + used.name);
        return view;
    }

    /// The parameter in double, row-major; valid while the node is being computed.
    const double* parameter(const PlanParameter& used) const {
        const MatrixView view = stored(used);
        std::vector<double>& wide = widened_.emplace_back(static_cast<std::size_t>(view.rows * view.columns));
        copy_numbers(view, wide.data());
        return wide.data();
    }

    /// The cells that may attend, for stages from the mask on; null for every other stage. Encoder self-attention and cross-attention read
    /// their whole source; the patterns (causal, window, ...) apply to the other self-attentions.
    SharedPermissions permissions_of(const PlanNode& node) {
        if (!knows_mask(node.op)) return nullptr;
        // Where the mask comes late, the first stage that knows it is the softmax.
        if (node.op != Op::Mask && node.op != Op::SoftmaxThenMask) return recorded(node.inputs.at(0)).permissions;
        const bool cross = node.id.attention == kCrossAttention;
        const std::int64_t queries = batch(node).length, keys = cross ? source_.length : queries;
        const MaskRule rule = node.settings.mask_rule;
        if (cross || node.id.stack == Stack::Encoder)
            return share(padding_permissions(settings_.masks, source_.lengths, queries, keys, rule));
        const std::int64_t own = node.settings.window;
        const auto of_rows = [&](std::int64_t first, std::int64_t count) {
            MaskSettings masks = settings_.masks;
            if (own > 0 && own <= queries && (masks.window == 0 || masks.window > own)) masks.window = static_cast<int>(own);
            return share(self_permissions(masks, tokens_.lengths, queries, first, count, rule));
        };
        if (!rows_.all()) return of_rows(rows_.first, rows_.count);
        SharedPermissions& self = self_[own];
        if (self == nullptr) self = of_rows(0, queries);
        return self;
    }

    template <class Function>
    static Matrix each(const Matrix& x, const Function& function) {
        Matrix out(x.shape());
        for (std::int64_t i = 0; i < x.size(); ++i) out.data()[i] = function(x.data()[i]);
        return out;
    }

    Matrix drop(const Matrix& x, const PlanNode& node, double rate) const {
        return dropped_out(x, rate, settings_.dropout.seed, node.dropout_site);
    }

    Matrix ids(const PlanNode& node) const {
        const TokenBatch& tokens = batch(node);
        Matrix out({{Axis::B, tokens.size()}, {Axis::T, tokens.length}});
        std::copy(tokens.ids.begin(), tokens.ids.end(), out.data());
        return out;
    }

    Matrix looked_up(const PlanNode& node) const {
        const std::vector<std::int32_t>& ids = batch(node).ids;
        const MatrixView table = stored(node.weight);  // only a few rows are read
        Matrix out({{Axis::B, batch(node).size()}, {Axis::T, batch(node).length}, {node.axes.back(), table.columns}});
        for (std::size_t i = 0; i < ids.size(); ++i)
            for (std::int64_t c = 0; c < table.columns; ++c)
                out.data()[static_cast<std::int64_t>(i) * table.columns + c] = node.settings.factor * table.at(ids[i], c);
        return out;
    }

    Matrix segments(const PlanNode& node) const {
        const TokenBatch& tokens = batch(node);
        const double* table = parameter(node.weight);
        Matrix out({{Axis::B, tokens.size()}, {Axis::T, tokens.length}, {Axis::C, config_.d_model}});
        for (std::int64_t i = 0; i < tokens.size() * tokens.length; ++i) {
            const std::int64_t row = tokens.segments.empty() ? 0 : tokens.segments[static_cast<std::size_t>(i)];
            for (std::int64_t c = 0; c < config_.d_model; ++c) out.data()[i * config_.d_model + c] = table[row * config_.d_model + c];
        }
        return out;
    }

    Matrix positions(const PlanNode& node) const {
        const std::int64_t width = config_.d_model;
        Matrix out({{Axis::B, batch(node).size()}, {Axis::T, batch(node).length}, {Axis::C, width}});
        const double* table = node.weight.empty() ? nullptr : parameter(node.weight);
        for (std::int64_t b = 0; b < batch(node).size(); ++b)
            for (std::int64_t t = 0; t < batch(node).length; ++t)
                for (std::int64_t c = 0; c < width; ++c) out(b, t, c) = table == nullptr ? sinusoid(t, c, width) : table[t * width + c];
        return out;
    }

    /// Dropout applies to the whole sum of an embedding, but in a residual only to the last summand, the sublayer's output.
    Matrix added(const PlanNode& node) const {
        const bool whole = node.dropout_site == node.id;
        const std::size_t last = node.inputs.size() - 1;
        Matrix total = whole ? input(node, last) : drop(input(node, last), node, settings_.dropout.residual);
        for (std::size_t i = 0; i < last; ++i) total = sum(input(node, i), total);
        return whole ? drop(total, node, settings_.dropout.embedding) : total;
    }

    Matrix normed(const PlanNode& node) const {
        const double* gain = parameter(node.weight);
        const double plus = node.settings.norm_kind == NormKind::RmsPlusOne ? 1 : 0;
        if (node.settings.all_heads) return rms_norm_of_all_heads(input(node), gain, node.settings.eps, plus);
        if (node.settings.norm_kind != NormKind::LayerNorm) return rms_norm(input(node), gain, node.settings.eps, plus);
        return layer_norm(input(node), gain, parameter(node.bias), node.settings.eps);
    }

    Matrix mapped(const PlanNode& node) const {
        const MatrixView table = stored(node.weight), weight = node.weight.transposed ? table.across() : table;
        const LinearMap map{weight, node.bias.empty() ? nullptr : parameter(node.bias)};
        if (!node.has_heads()) return linear(input(node), map, {node.axes.back(), weight.columns}, stop_);
        const Dim heads{node.axes[1], weight.columns / config_.head_size()};
        const Matrix packed = linear(input(node), map, {Axis::N, weight.columns}, stop_);
        return node.op == Op::LinearByReshape ? heads_in_order(packed, heads, node.axes[2]) : split_heads(packed, heads, node.axes[2]);
    }

    Matrix masked_late(const Matrix& scores, const Permissions& permissions) const {
        Matrix map = attention_weights(scores, everything_allowed(permissions.queries, permissions.keys), settings_.temperature);
        forget_forbidden(map, permissions);
        return map;
    }

    const Parameters<Scalar>& parameters_;
    mutable std::vector<std::vector<double>> widened_;
    const Config& config_;
    const Plan plan_;
    const TokenBatch &tokens_, &source_;
    const ForwardSettings& settings_;
    std::stop_token stop_;
    Rounding rounding_;
    Rows rows_;                                       // being computed
    std::list<Kept> kept_;                            // a list, because references to its elements are kept
    std::map<std::int64_t, SharedPermissions> self_;  // by window; all self-attentions of a plan have the same rule
    std::map<std::string, const Matrix*> whole_;
};

}  // namespace

template <class Scalar>
std::vector<ReferenceStage> forward(const Parameters<Scalar>& parameters, const TokenBatch& tokens, const TokenBatch& source,
                                    const ForwardSettings& settings, std::stop_token stop, Rounding rounding) {
    return Pass<Scalar>(parameters, tokens, source, settings, std::move(stop), rounding).run();
}

template <class Scalar>
struct PartOfReference<Scalar>::State {
    const Trace<Scalar>& outline;
    Pass<Scalar> pass;
    const PlanPart place;
    struct Whole {
        Matrix value;
        std::int64_t known = 0;  ///< number of positions
    };
    std::map<std::size_t, Whole> whole{};  ///< keys and values, if rows are asked for

    const PlanNode& node(std::size_t i) const { return pass.plan().nodes()[i]; }
    std::size_t place_of(const StageId& id) const { return static_cast<std::size_t>(&pass.plan().at(id) - pass.plan().nodes().data()); }
    /// Whether a node of the part after index `after` reads the stage.
    bool is_read_later(const StageId& id, std::size_t after) const {
        for (std::size_t i = after + 1; i < place.end; ++i)
            if (std::count(node(i).inputs.begin(), node(i).inputs.end(), id) > 0) return true;
        return false;
    }
    bool is_read_whole(const StageId& id) const {
        for (std::size_t i = place.first; i < place.end; ++i)
            for (std::size_t which = 0; which < node(i).inputs.size(); ++which)
                if (node(i).inputs[which] == id && reads_all(node(i), which)) return true;
        return false;
    }

    const ReferenceStage& given(const StageId& id, const Rows& rows) {
        const RecordedStage<Scalar>* stage = outline.find(id);
        if (stage == nullptr) throw Error("the outline has no " + tensor_name(id));
        if (rows.all()) {
            Matrix value(stage->value.shape());
            std::copy(stage->value.values().begin(), stage->value.values().end(), value.data());
            return pass.give({id, std::move(value), nullptr}, rows);
        }
        Tensor<Scalar> some(with_positions(stage->value.shape(), rows.count));
        copy_positions(stage->value, rows.first, some, 0, rows.count);
        Matrix value(some.shape());
        std::copy(some.values().begin(), some.values().end(), value.data());
        return pass.give({id, std::move(value), nullptr}, rows);
    }

    /// Keeps rows of keys or values, which are computed in order.
    void keep(const ReferenceStage& made, const Rows& rows) {
        Whole& all = whole[place_of(made.id)];
        if (all.value.empty()) all.value = Matrix(with_positions(made.value.shape(), outline.tokens.length));
        copy_positions(made.value, 0, all.value, rows.first, rows.count);
        all.known = std::max(all.known, rows.first + rows.count);
        pass.give_whole(made.id, &all.value);
    }
    void make_whole(const StageId& id, std::int64_t at_a_time) {
        for (std::int64_t first; (first = whole[place_of(id)].known) < outline.tokens.length;)
            make(id, {first, std::min(at_a_time, outline.tokens.length - first)});
    }

    const ReferenceStage& make(const StageId& id, const Rows& rows) {
        if (const ReferenceStage* known = pass.find(id, rows)) return *known;
        const std::size_t at = place_of(id);
        if (at < place.first) return given(id, rows);
        const PlanNode& made_by = node(at);
        for (std::size_t which = 0; which < made_by.inputs.size(); ++which) {
            if (!rows.all() && reads_all(made_by, which)) make_whole(made_by.inputs[which], rows.count);
            else make(made_by.inputs[which], rows);
        }
        const ReferenceStage& made = pass.compute(made_by, rows);
        if (!rows.all() && is_read_whole(id)) keep(made, rows);
        return made;
    }
};

template <class Scalar>
PartOfReference<Scalar>::PartOfReference(const Trace<Scalar>& outline, const PlanPart& place, std::stop_token stop, Rounding rounding)
    : state_(new State{
          outline, {*outline.parameters, outline.tokens, outline.source_tokens, outline.settings, std::move(stop), rounding}, place}) {
    state_->pass.check();
}

template <class Scalar>
PartOfReference<Scalar>::~PartOfReference() = default;

template <class Scalar>
const ReferenceStage& PartOfReference<Scalar>::stage(const StageId& id, const Rows& rows) {
    const ReferenceStage& made = state_->make(id, rows);
    const std::size_t at = state_->place_of(id);
    state_->pass.forget(
        [&](const StageId& other, const Rows& of) { return !(of == rows && (other == id || state_->is_read_later(other, at))); });
    return made;
}

#define ATTN_INSTANTIATE(Scalar)                                                                                                           \
    template std::vector<ReferenceStage> forward<Scalar>(const Parameters<Scalar>&, const TokenBatch&, const TokenBatch&,                  \
                                                         const ForwardSettings&, std::stop_token, Rounding);                               \
    template class PartOfReference<Scalar>;
ATTN_INSTANTIATE(float)
ATTN_INSTANTIATE(double)
#undef ATTN_INSTANTIATE

}  // namespace attn::reference
