/* Texts that a step of a chain computes or chooses: see chain.h. */
#ifndef ACTORSTREAM_CHAIN_TEXT_H
#define ACTORSTREAM_CHAIN_TEXT_H
#include "../include/chain.h"

/* A step AS_CHAIN_TEXT on `rows` rows. 0 | AS_AGAIN: the batch has to go through the hooks | AS_E_ARGUMENT | AS_E_MEMORY. */
int as_chain_text_run(const as_chain_step *step, const as_chain_work *work, int64_t rows);
#endif
