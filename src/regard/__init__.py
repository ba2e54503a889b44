"""Which words did the classifier attend to, and may I believe it?"""
