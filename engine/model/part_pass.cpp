#include "engine/model/part_pass.hpp"

#include <utility>

namespace attn {

template <class Scalar>
PartPass<Scalar>::PartPass(const Parameters<Scalar>& parameters, const ForwardSettings& settings, PassMasks masks, Form form)
    : weights_(parameters), plan_(parameters.config(), settings.mistake), settings_(settings), masks_(std::move(masks)),
      program_(plan_, weights_, form, Keep::Everything) {}

template <class Scalar>
const Tensor<Scalar>& PartPass<Scalar>::forward_after(const StageId& id) {
    first_ = program_.place(id) + 1;
    program_.forward({settings_, masks_, tap_}, first_, last() + 1);
    return program_.value(last());
}

template <class Scalar>
void PartPass<Scalar>::backward(Tensor<Scalar> doutput, Gradients<Scalar>& gradients) {
    program_.begin_backward();
    program_.begin_gradient(last()) = std::move(doutput);
    PassSetting<Scalar> setting{settings_, masks_, tap_};
    setting.gradients = &gradients;
    program_.backward(setting, first_, last() + 1);
}

template class PartPass<float>;
template class PartPass<double>;

}  // namespace attn
