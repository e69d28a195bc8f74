#include <cmath>

#include "engine/attention/scaled_dot_product.hpp"
#include "engine/check/modules.hpp"
#include "engine/ops/linear.hpp"
#include "engine/tensor/matrix.hpp"

namespace attn::check {
namespace {

/// x [T,C] and one head's matrices [C,D], whose array names begin with `prefix`.
template <class Scalar>
class Head {
public:
    Head(CaseFile& file, std::string prefix, const std::vector<Scalar>& x, std::int64_t length, std::int64_t width)
        : file_(file), prefix_(std::move(prefix)), x_(x), length_(length), width_(width) {}

    /// Compares every matrix of the head; returns the context as [1,1,T,D].
    Tensor<Scalar> compare_all() {
        const Tensor<Scalar> q = project("w_q", Axis::T), k = project("w_k", Axis::S), v = project("w_v", Axis::S);
        if (q.size() != k.size())
            file_.fail(prefix_ + "w_k", "expected the shape of " + prefix_ + "w_q, " + shape_text(file_.sizes(prefix_ + "w_q")) +
                                            ", found " + shape_text(file_.sizes(prefix_ + "w_k")));
        const AttentionSizes sizes = attention_sizes(q, k, v);
        require_map_fits(file_, "x", sizes.map_shape());
        compare("q", q);
        compare("k", k);
        compare("v", v);
        const Mask everyone(length_, length_);
        Tensor<Scalar> scores, scaled, weights, context;
        attention_scores(q, k, sizes, scores);
        compare("scores", scores);
        scale_scores(scores, 1 / std::sqrt(static_cast<double>(sizes.head_size)), scaled);
        compare("scaled", scaled);
        attention_weights(scaled, everyone, 1.0, sizes, weights);
        compare("weights", weights);
        attention_context(weights, v, everyone, sizes, context);
        compare("context", context);
        return context;
    }

private:
    Tensor<Scalar> project(const std::string& name, Axis position) {
        const std::int64_t head_size = file_.sizes(prefix_ + name, 2)[1];
        const auto weight = file_.numbers<Scalar>(prefix_ + name, Shape{{Axis::C, width_}, {Axis::D, head_size}});
        Tensor<Scalar> out({{Axis::B, 1}, {Axis::H, 1}, {position, length_}, {Axis::D, head_size}});
        linear<Scalar>(x_.data(), length_, MatrixView::of(weight.data(), width_, head_size), nullptr, out.data());
        return out;
    }
    /// The file's arrays have no axes for batch and head.
    void compare(const std::string& name, const Tensor<Scalar>& value) {
        file_.compare<Scalar>(prefix_ + name, Shape{value.shape()[2], value.shape()[3]}, value.values());
    }

    CaseFile& file_;
    std::string prefix_;
    const std::vector<Scalar>& x_;
    std::int64_t length_, width_;
};

}  // namespace

template <class Scalar>
void check_notebook(CaseFile& file) {
    const std::vector<std::int64_t>& sizes = file.sizes("x", 2);
    const std::int64_t length = sizes[0], width = sizes[1];
    const auto x = file.numbers<Scalar>("x", Shape{{Axis::T, length}, {Axis::C, width}});
    if (file.has("w_q")) {
        Head<Scalar>(file, "", x, length, width).compare_all();
        return;
    }
    std::vector<Tensor<Scalar>> contexts;
    std::int64_t concat_width = 0;
    while (contexts.empty() || file.has("head" + std::to_string(contexts.size()) + ".w_q")) {
        contexts.push_back(Head<Scalar>(file, "head" + std::to_string(contexts.size()) + ".", x, length, width).compare_all());
        concat_width += contexts.back().shape()[3].size;
    }
    Tensor<Scalar> concat({{Axis::T, length}, {Axis::N, concat_width}});
    std::int64_t column = 0;
    for (const Tensor<Scalar>& context : contexts) {
        const auto head = matrix_of(context);
        matrix_of(concat).middleCols(column, head.cols()) = head;
        column += head.cols();
    }
    file.compare("concat", concat);
    const std::int64_t out_width = file.sizes("w_o", 2)[1];
    const auto w_o = file.numbers<Scalar>("w_o", Shape{{Axis::N, concat_width}, {Axis::C, out_width}});
    Tensor<Scalar> output({{Axis::T, length}, {Axis::C, out_width}});
    linear<Scalar>(concat.data(), length, MatrixView::of(w_o.data(), concat_width, out_width), nullptr, output.data());
    file.compare("output", output);
}

template void check_notebook<float>(CaseFile&);
template void check_notebook<double>(CaseFile&);

}  // namespace attn::check
