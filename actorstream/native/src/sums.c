/* Exact sums of windows and of checkpoints: see panes.h and sessions.h. */
#include "panes.h"
#include "sessions.h"

static const uint64_t *sum_of_group(const as_panes *panes, uint32_t step, uint32_t group) {
    return panes->source + group * pane_words(panes) + panes->program.step[step].word;
}

void as_panes_sums(const as_panes *panes, uint32_t step, const uint32_t *group, int64_t rows, double *out) {
    for (int64_t i = 0; i < rows; i++)
        out[i] = as_exact_value(&panes->source_beside->exacts, sum_of_group(panes, step, group[i]));
}

int64_t as_panes_parts(const as_panes *panes, uint32_t step, const uint32_t *group, int64_t rows, int64_t *offsets,
                       uint64_t *part) {
    offsets[0] = 0;
    for (int64_t i = 0; i < rows; i++)
        offsets[i + 1] = offsets[i] + as_exact_parts(&panes->source_beside->exacts, sum_of_group(panes, step, group[i]),
                                                     part ? part + offsets[i] : NULL);
    return offsets[rows];
}

int as_panes_put_parts(as_panes *panes, int64_t number, int64_t tag, uint32_t step, const uint32_t *group, int64_t rows,
                       const int64_t *offsets, const uint64_t *part) {
    as_pane *pane = as_pane_find(panes, number, tag);
    const uint64_t words = pane_words(panes);
    int status = pane == NULL ? AS_E_MEMORY : as_pane_reserve(panes, pane);
    for (int64_t i = 0; i < rows && status == AS_OK; i++)
        status =
            as_exact_put_parts(&pane->beside.exacts, pane->cells + group[i] * words + panes->program.step[step].word,
                               part + offsets[i], (uint64_t)(offsets[i + 1] - offsets[i]));
    return status;
}

static const uint64_t *sum_of_session(const as_sessions *sessions, uint32_t step, uint32_t which) {
    return sessions->cells + sessions->due[which] * session_words(sessions) + sessions->program.step[step].word;
}

void as_sessions_sums(const as_sessions *sessions, uint32_t step, const uint32_t *which, int64_t count, double *out) {
    for (int64_t i = 0; i < count; i++)
        out[i] = as_exact_value(&sessions->beside.exacts, sum_of_session(sessions, step, which[i]));
}

int64_t as_sessions_parts(const as_sessions *sessions, uint32_t step, const uint32_t *which, int64_t count,
                          int64_t *offsets, uint64_t *part) {
    offsets[0] = 0;
    for (int64_t i = 0; i < count; i++)
        offsets[i + 1] = offsets[i] + as_exact_parts(&sessions->beside.exacts, sum_of_session(sessions, step, which[i]),
                                                     part ? part + offsets[i] : NULL);
    return offsets[count];
}

int as_sessions_put_parts(as_sessions *sessions, uint32_t step, const uint32_t *number, int64_t rows,
                          const int64_t *offsets, const uint64_t *part) {
    const uint64_t words = session_words(sessions);
    int status = AS_OK;
    for (int64_t i = 0; i < rows && status == AS_OK; i++)
        status = as_exact_put_parts(&sessions->beside.exacts,
                                    sessions->cells + number[i] * words + sessions->program.step[step].word,
                                    part + offsets[i], (uint64_t)(offsets[i + 1] - offsets[i]));
    return status;
}
