#include "app/session/values/doctor_report.hpp"

#include <new>
#include <utility>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/examine.hpp"
#include "app/session/facets/work.hpp"
#include "engine/doctor/doctor.hpp"
#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

Job<DoctorReport> facet::Doctor::make(const Doctor&, Ask& ask) {
    return [pass = ask(Trace{})](const Work& work) {
        const std::shared_ptr<const attn::Trace<float>>& held = pass->trace;
        const bool at_once = held->whole() || is_tested_for_future(*held);
        expect_to_be_judged(*held);
        work.expect_room(mib_to_examine(*held, at_once));
        if (!at_once || held->whole()) return work.engine.examine(held, work.stop);
        work.expect_room(pass->whole_mib);
        return work.engine.examine(std::make_shared<const attn::Trace<float>>(
                                       work.engine.forward(held->parameters, held->tokens, held->source_tokens, held->settings, work.stop)),
                                   work.stop);
    };
}

Job<DoctorReport> facet::Dump::make(const Dump& wanted, Ask&) {
    return [wanted](const Work& work) {
        DoctorReport report;
        report.file = wanted.file;
        try {
            report.diagnosis = doctor::examine_file(wanted.file, work.stop);
        } catch (const std::bad_alloc&) {
            throw Error("there is not enough memory for this file");
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            throw Error(escaped(error.what(), 0));
        }
        return report;
    };
}

}  // namespace attn::app
