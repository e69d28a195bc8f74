#pragma once
/// A plan made ready to be computed: its nodes with everything they read, cut into steps, and the memory of their results.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/attention/causal_zeros.hpp"
#include "engine/attention/heads_view.hpp"
#include "engine/attention/key_value_cache.hpp"
#include "engine/attention/rotation.hpp"
#include "engine/model/gradients.hpp"
#include "engine/model/pass_masks.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/plan/plan.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/trace/tap.hpp"
#include "engine/weights/packed_weights.hpp"
#include "engine/weights/weights.hpp"

namespace attn {

/// How a program computes its plan.
enum class Form : std::uint8_t {
    Staged,    ///< node by node, every result a tensor of its own: for all who look at them
    Outlined,  ///< the same bits without the maps of attentions, which nobody looks at; see can_leave_out_maps()
    Fused,     ///< runs of nodes together, what lies between them only as far as the way back needs it
};
/// What its memory is for.
enum class Keep : std::uint8_t {
    Everything,  ///< until the next pass: a backward pass can follow
    OneLayer,    ///< results of one layer take the place of those of the layer before
};

template <class Scalar>
class Program;

/// A node of the plan with everything that computing it takes. The first of several linear maps that are computed as one stands for all of
/// them: its parameters are those of all, side by side.
template <class Scalar>
struct Node {
    const PlanNode* plan = nullptr;
    std::vector<std::size_t> inputs;  ///< places in the plan
    MatrixView weight;                ///< matrix or table
    const Scalar *gain = nullptr, *bias = nullptr;
    PackedMatrix<Scalar> packed;                 ///< of the matrix, where somebody packed it
    ParameterPlace dweight, dbias;               ///< among the gradients
    std::int64_t columns = 0, first_column = 0;  ///< of a map: its own, among those of all
};

/// Consecutive nodes that are computed by one function.
template <class Scalar>
struct Step {
    void (*forward)(Program<Scalar>&, const Step&) = nullptr;
    void (*backward)(Program<Scalar>&, const Step&) = nullptr;
    std::size_t first = 0, count = 1;

    std::size_t last() const { return first + count - 1; }
};

/// What one pass is about. All of it has to outlive the pass.
template <class Scalar>
struct PassSetting {
    const ForwardSettings& settings;
    const PassMasks& masks;
    Tap<Scalar>& tap;
    const TokenBatch *tokens = nullptr, *source = nullptr;
    std::int64_t first_sequence = 0;         ///< of the batch, where a pass sees only a part of it
    Gradients<Scalar>* gradients = nullptr;  ///< of the parameters: where the way back adds
    bool fresh = false;                      ///< those of linear maps are replaced instead
    KeyValueCache<Scalar>* cache = nullptr;  ///< of the positions before these, in fused form: these are added, for whoever advances it
    std::int64_t first_position = 0;         ///< of the first token: not 0 where a pass continues a text
};

/// Whether a plan can be computed in fused form: some mistakes are made by single nodes only.
bool can_fuse(const Plan& plan);

/// Whether a forward pass can do without the maps of attentions: nothing is done to single numbers of them. `part`: of these nodes alone.
bool can_leave_out_maps(const Plan& plan, const ForwardSettings& settings, const std::optional<PlanPart>& part = {});

template <class Scalar>
class Program {
public:
    /// Of a plan that fits the weights; both have to outlive this.
    Program(const Plan& plan, const Weights& weights, Form form, Keep keep);
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    void use(const PackedWeights<Scalar>& packed);

    const Plan& plan() const { return plan_; }
    /// Of a stage that the plan has.
    std::size_t place(const StageId& id) const;

    /// Computes the nodes [first, last) and shows them to the tap; what they read besides has to be there.
    void forward(const PassSetting<Scalar>& setting, std::size_t first, std::size_t last);
    /// Gradients of the same nodes, from those that were begun, down to what the nodes read.
    void backward(const PassSetting<Scalar>& setting, std::size_t first, std::size_t last);
    /// Forgets all gradients.
    void begin_backward() { has_gradient_.assign(nodes_.size(), 0); }

    // --- for the steps -----------------------------------------------------------------------------------------------------------------
    const Config& config() const { return weights_.config(); }
    bool fused() const { return form_ == Form::Fused; }
    bool leaves_out_maps() const { return form_ == Form::Outlined; }
    const PassSetting<Scalar>& setting() const { return *setting_; }
    const ForwardSettings& settings() const { return setting_->settings; }
    const Node<Scalar>& node(std::size_t place) const { return nodes_[place]; }

    Tensor<Scalar>& value(std::size_t place) { return values_[value_slots_[place]]; }
    Tensor<Scalar>& gradient(std::size_t place) { return gradients_[gradient_slots_[place]]; }
    const Tensor<Scalar>& input(std::size_t place, std::size_t i = 0) { return value(nodes_[place].inputs[i]); }
    /// The heads in a node's result or gradient, which may be packed rows [B,P,N].
    HeadsView<Scalar> heads(std::size_t place) { return heads_in(value(place), place); }
    HeadsView<Scalar> gradient_heads(std::size_t place) { return heads_in(gradient(place), place); }
    HeadsView<Scalar> heads_in(Tensor<Scalar>& tensor, std::size_t place) const;

    /// Marks a node's gradient as begun, with the shape of its value: whoever calls this sets all of it.
    Tensor<Scalar>& begin_gradient(std::size_t place);
    bool has_gradient(std::size_t place) const { return has_gradient_[place] != 0; }
    /// Calls write(tensor) for what a step contributes to a node's gradient, of which there may be some already.
    template <class F>
    void contribute(std::size_t place, const F& write) {
        if (!has_gradient(place)) {
            has_gradient_[place] = 1;
            return write(gradient(place));
        }
        Tensor<Scalar>& part = parts_[static_cast<std::size_t>(parts_in_use_++)];
        write(part);
        --parts_in_use_;
        add_to_gradient(place, part);
    }
    /// Contributes a whole gradient as it is, without copying where the two share their memory.
    void pass_on(std::size_t from, std::size_t to);

    /// Where the gradients of a node's parameters are added; null where it has none.
    Scalar* dweight(std::size_t place) { return parameter_gradient(nodes_[place].dweight); }
    Scalar* dbias(std::size_t place) { return parameter_gradient(nodes_[place].dbias); }

    const TokenBatch& tokens(std::size_t place) const;
    std::int64_t first_position() const { return setting_->first_position; }
    const std::shared_ptr<const Mask>& mask(std::size_t place) const;
    /// What the scores of an attention are masked with: nothing, where the mask comes after the softmax.
    const std::shared_ptr<const Mask>& score_mask(std::size_t place);
    /// What to drop of a tensor [B,...]: the same as if the whole batch were here.
    DropoutPattern dropout(double rate, const StageId& site, const Shape& shape) const;
    const RotationTable<Scalar>& rotation(std::size_t place, std::int64_t positions);
    /// What a norm multiplies by, until the next one asks.
    const Scalar* gain(std::size_t place);

    /// Memory of a norm: [B,T].
    struct NormStatistics {
        Tensor<Scalar> mean, rstd;
    };
    NormStatistics& statistics(std::size_t place) { return statistics_[value_slots_[place]]; }
    /// What is known of a map of weights in fused form.
    CausalZeros& zeros(std::size_t place) { return zeros_[value_slots_[place]]; }
    /// The product of several maps before it is cut into heads, in staged form.
    Tensor<Scalar>& packed_rows() { return packed_rows_; }
    /// Memory for heads side by side, while a norm of theirs is computed.
    std::array<Tensor<Scalar>, 2>& joined_heads() { return joined_heads_; }

private:
    void add_to_gradient(std::size_t place, const Tensor<Scalar>& part);
    Scalar* parameter_gradient(const ParameterPlace& place);
    void show(const Step<Scalar>& step);
    void show(std::size_t place);
    void finish_gradient(std::size_t place);
    const std::shared_ptr<const Mask>& shown_mask(std::size_t place);

    void find_nodes();
    void find_parameters(Node<Scalar>& node);
    const Scalar* find_row(const PlanParameter& parameter);
    void cut_into_steps();
    void merge(std::size_t first, std::size_t count);
    std::size_t home(std::size_t place) const;
    void share_values(Keep keep);
    void share_gradients();

    const Plan& plan_;
    const Weights& weights_;
    const ParameterLayout layout_{weights_.config()};
    Form form_;
    std::vector<Node<Scalar>> nodes_;
    std::vector<Step<Scalar>> steps_;
    std::vector<std::vector<Scalar>> rows_;  ///< gains and biases that had to be converted

    std::vector<std::size_t> value_slots_, gradient_slots_;  ///< of the nodes
    std::vector<Tensor<Scalar>> values_, gradients_;
    std::vector<NormStatistics> statistics_;
    std::vector<CausalZeros> zeros_;
    std::vector<char> has_gradient_;
    std::array<Tensor<Scalar>, 3> parts_;
    int parts_in_use_ = 0;
    Tensor<Scalar> packed_rows_;
    std::array<Tensor<Scalar>, 2> joined_heads_;
    /// A table for each rule that layers have.
    struct RuledTable {
        RotaryRule rule;
        std::optional<bool> is_long;
        std::vector<double> frequencies;
        RotationTable<Scalar> table;
    };
    std::vector<RuledTable> rotations_;
    std::vector<Scalar> gain_;
    std::shared_ptr<const Mask> everything_;  ///< a mask that allows it
    const PassSetting<Scalar>* setting_ = nullptr;
};

}  // namespace attn
