/* What the C part of the tests offers to the C++ part. */
#ifndef POWERINFER_TESTS_C99_USER_H
#define POWERINFER_TESTS_C99_USER_H

#ifdef __cplusplus
extern "C" {
#endif

/* Makes n tokens with a loop of step and sample; writes the text. 0, or the line that failed. */
int c99_story(const char* path, const char* prompt, int n, char* text, unsigned long capacity);

/* Uses every function that takes no model. 0, or the line that failed. */
int c99_without_model(void);

#ifdef __cplusplus
}
#endif

#endif
