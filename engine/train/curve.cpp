#include "engine/train/curve.hpp"

namespace attn {

void Plateau::count(const ValidationPoint& point) {
    if (step == point.step) return;
    step = point.step;
    if (point.loss < best_loss) {
        best_loss = point.loss;
        without_better = 0;
    } else {
        ++without_better;
    }
}

}  // namespace attn
