"""What Xid codes mean and what to do beyond their bin, for a person on call."""

WORDS: dict[int, str] = {
    13: "a program made an illegal access or instruction",
    31: "a program touched memory that is not mapped",
    43: "a program's work was stopped by the driver",
    45: "a program's work was removed, after another fault or when it was killed",
    48: "uncorrected memory error",
    62: "the power controller of the GPU halted",
    63: "a bad memory row or page was recorded for repair",
    64: "a bad memory row or page could not be recorded for repair",
    74: "NVLink error",
    79: "the GPU fell off the PCIe bus",
    92: "many corrected memory errors, by the driver's own measure",
    94: "memory error, contained to the programs that touched it",
    95: "memory error that could not be contained",
    109: "switching between programs timed out",
    119: "the GPU's system processor does not answer",
    120: "the GPU's system processor failed",
    122: "the power controller cannot read its flash",
    136: "NVLink training failed",
    140: "uncorrected memory error that nothing handled",
    149: "NVLink went down or its error rate is high",
    154: "the driver asks for a recovery",
    163: "power smoothing was switched off",
    171: "uncorrected memory error in DRAM",
    172: "uncorrected memory error in SRAM",
}
"""In this project's words; other codes go by their name in the catalogue."""

THEN: dict[int, str] = {
    48: "if no XID 63 or 64 came with it, run the field diagnostic as well",
    64: "the repair of its memory failed: read the remap failure flag, run the field diagnostic",
    74: "look at both ends of the link",
    94: "reset it at the next gap in the work",
    157: "its spare memory is running out: watch it",
    160: "its spare memory is running out: watch it",
    161: "its spare memory is used up: plan its replacement",
}
"""Beyond the bin, in this project's words after the workflows of NVIDIA's catalogue."""
