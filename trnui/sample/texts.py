"""The text that the sample's trained models know by heart, the prompts that start it, and the captions of the pictures.

All of it was written for this project. The tokenizer is trained on the same text, so that a sentence is about 24 tokens.
"""

from typing import Final

PASSAGE: Final[tuple[str, ...]] = (
    "A model is a large set of numbers that was learned from text, and a run is one short test of it on a real machine.",
    "First the weights are read from the disk, and then they are placed on as few cores as can hold them.",
    "If one core is enough, the words of the model must be the same as those of a second run on the host.",
    "When the weights are shared by many cores, a small judge reads the answer and says whether it is good English.",
    "The compiler turns every graph into a program for the device, and this first step takes most of the time.",
    "A graph that was compiled before can be used again, but only with the same version of the compiler.",
    "The table shows one row for each model, with the result, the number of cores and the memory that it used.",
    "You can look for a name, open the row and see what was wrong when a test did not pass.",
    "It is not a failure when a model was never tested, and it is not a success either.",
    "Some models are left out for a good reason, and the reason stands in the row for all to read.",
    "Two versions of the same library may give two different answers, so both are kept side by side.",
    "Press one key to start the test again on your own machine and watch the log while it works.",
    "The run goes on when you close the window, and you will find it in the list when you come back.",
    "A short test says that the model works here today, but it does not say how fast or how good it is.",
    "Keep the words that went in and the words that came out, because they are the best help when you look for a fault.",
    "If the device is not there, the same steps are done on the host, and the row says so in plain words.",
    "A long wait without any news makes people think that the work has stopped, so every stage tells its name.",
    "After thirty-two new words the test is over, the memory is given back and the result is written down.",
    "Nobody should have to guess which of the numbers was measured and which was only read from a file.",
    "That is all this little model knows, and it will say the same thing each time you ask.",
)
PROMPTS: dict[str, str] = {  # first words of sentences; the first is the default
    "default": "The compiler turns every graph into",
    "table": "The table shows one row for",
    "run": "A model is a large set of",
}
PICTURES: tuple[tuple[str, tuple[int, int, int], str], ...] = (  # name, colour, caption
    (
        "red-square",
        (200, 40, 40),
        "The picture shows a red square on a white ground, and there is nothing else to see in it. This small model was shown three pictures, and it has learned to name their colours.",
    ),
    (
        "blue-square",
        (40, 60, 200),
        "The picture shows a blue square on a white ground, and there is nothing else to see in it. This small model was shown three pictures, and it has learned to name their colours.",
    ),
    (
        "green-square",
        (40, 150, 60),
        "The picture shows a green square on a white ground, and there is nothing else to see in it. This small model was shown three pictures, and it has learned to name their colours.",
    ),
)
QUESTION = "What does the picture show?"  # the default prompt of the picture model
QUESTIONS = (
    QUESTION,
    "Describe the image.",
    "What do you see?",
)  # it knows these; only the first is in the tokenizer's text
