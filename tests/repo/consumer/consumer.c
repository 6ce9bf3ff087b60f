#include <powerinfer/version.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    printf("powerinfer %s\n", powerinfer_version());
    return strcmp(powerinfer_version(), POWERINFER_VERSION) == 0 ? 0 : 1;
}
